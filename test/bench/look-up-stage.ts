import type { Endpoints } from '../../deploy/local/config.ts';
import { makeClickhouse } from '../../pipelines/runtime/clickhouse.ts';
import { migrateClickhouse, migratePostgres } from '../../pipelines/runtime/migrate.ts';
import { makePool } from '../../pipelines/runtime/postgres.ts';
import { insertEdition } from '../support/registers/served-register.ts';
import { loadedRegisters, loadTaxpayers } from './look-up-rows.ts';
import { unlimitedToken } from './own-stack.ts';

/** The day of the first editions. The daily register has a second one, a day later. */
export const firstDay = '2026-11-25';

/** Loads `rows` companies into the engines without the pipeline. Returns a token of each account, which reaches no limit. */
export async function serveTaxpayers(
  { DATABASE_URL, CLICKHOUSE_URL }: Endpoints,
  rows: number,
  accounts = 1,
): Promise<string[]> {
  await migratePostgres(DATABASE_URL);
  await migrateClickhouse(CLICKHOUSE_URL);
  const clickhouse = makeClickhouse(CLICKHOUSE_URL, 'bench', { requestTimeoutMs: 600_000, connections: 1 });
  const startedAt = performance.now();
  await loadTaxpayers(clickhouse, rows);
  await clickhouse.close();
  const took = ((performance.now() - startedAt) / 1_000).toFixed(1);
  console.log(
    `${rows} companies, half of them in the monthly register too, made by SQL in the packed table in ${took} s`,
  );
  const pool = makePool(DATABASE_URL, 'bench', 1);
  for (const register of loadedRegisters) await insertEdition(pool, { register, number: 1, fechaDato: firstDay });
  await insertEdition(pool, { number: 2, fechaDato: '2026-11-26', sha256: 'cd'.repeat(32) });
  const tokens: string[] = [];
  while (tokens.length < accounts) tokens.push(await unlimitedToken(pool));
  await pool.end();
  return tokens;
}
