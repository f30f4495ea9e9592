import { setTimeout as sleep } from 'node:timers/promises';
import { type ClickHouseClient, insertSettings } from '../../../pipelines/runtime/clickhouse.ts';
import type { Pool } from '../../../pipelines/runtime/postgres.ts';
import { type RegisterName, registers } from '../../../schemas/registers.ts';

/** Inserts rows and editions where the pipeline would, for tests of the code that reads them. */
export interface TestRow {
  /** A line of the register: RUC and cells, separated by pipes, in the order of its columns. */
  line: string;
  /** The daily register if omitted. */
  register?: RegisterName;
  version?: number;
  isDeleted?: boolean;
}

export async function insertTaxpayers(clickhouse: ClickHouseClient, rows: readonly TestRow[]): Promise<void> {
  await clickhouse.insert({
    table: 'taxpayer',
    format: 'JSONEachRow',
    clickhouse_settings: insertSettings,
    values: rows.map(({ line, register = 'padron_reducido', version = 1, isDeleted = false }) => {
      const { code, columns } = registers[register];
      const [ruc, ...cells] = line.split('|');
      const row = JSON.stringify(cells.slice(0, columns.length));
      return { ruc, register: code, version, is_deleted: isDeleted ? 1 : 0, row };
    }),
  });
}

export interface TestEdition {
  /** The daily register if omitted. */
  register?: RegisterName;
  number: number;
  fechaDato: string;
  publishedAt?: string;
  materialisedAt?: string | null;
  sha256?: string;
  /** A correction has no publication. */
  corrects?: number;
  /** The change file, where a test reads it; otherwise a name that no archive has. */
  changeFile?: { sha256: string; changes: number };
  /** True if the edition wrote every row, including unchanged ones. */
  isFull?: boolean;
}

/**
 * Waits until every API shows what was written into the catalogue before. An API may have read the catalogue just
 * before the write, shows that for 200 ms, and then needs some time to read it again.
 */
export const untilCatalogueIsRead = (): Promise<void> => sleep(500);

export async function insertEdition(pool: Pool, edition: TestEdition): Promise<void> {
  const { register = 'padron_reducido', number, fechaDato, corrects = null, isFull = number === 1 } = edition;
  const columns = registers[register].columns.map(({ name }) => name);
  const counts = { baseline: isFull ? 1 : 0 };
  const { publishedAt = `${fechaDato}T07:38:00Z` } = edition;
  const { changeFile = { sha256: 'cd'.repeat(32), changes: counts.baseline } } = edition;
  const materialisedAt = edition.materialisedAt === undefined ? `${fechaDato}T09:00:00Z` : edition.materialisedAt;
  const publication = corrects === null ? await insertPublication(pool, { ...edition, register, publishedAt }) : null;
  await pool.query(
    `INSERT INTO edition (register, number, publication_id, corrects, fecha_dato, published_at, detected_at,
       change_file_sha256, parser_version, columns, changes, counts, publicada_at, materializada_at)
     VALUES ($1, $2, $3, $4, $5, $6, $6, $7, 1, $9, $11, $10, $6, $8)`,
    [
      ...[register, number, publication, corrects, fechaDato, publishedAt, changeFile.sha256, materialisedAt],
      ...[columns, counts, changeFile.changes],
    ],
  );
}

/**
 * Inserts a publication without an edition: one that waits, was refused or repeats the head's bytes. Returns its id.
 */
export async function insertPublication(
  pool: Pool,
  publication: Pick<TestEdition, 'fechaDato' | 'sha256'> & {
    register: RegisterName;
    publishedAt: string;
    state?: string;
  },
): Promise<number> {
  const { register, fechaDato, publishedAt, sha256 = 'ab'.repeat(32), state = 'publicada' } = publication;
  const { rows } = await pool.query<{ id: number }>(
    `INSERT INTO publication (register, sha256, fecha_dato, published_at, state) VALUES ($1, $2, $3, $4, $5) RETURNING id`,
    [register, sha256, fechaDato, publishedAt, state],
  );
  return rows[0]!.id;
}

export interface TestChange {
  /** Lines of the register; null if the register does not contain the RUC. */
  before: string | null;
  after: string | null;
  register?: RegisterName;
  edition: number;
  corrects?: number;
}

/** Inserts changes into the history, and the state after each. */
export async function insertChanges(clickhouse: ClickHouseClient, changes: readonly TestChange[]): Promise<void> {
  const cellsOf = (line: string | null, columns: number) =>
    line === null ? null : JSON.stringify(line.split('|').slice(1, columns + 1));
  await clickhouse.insert({
    table: 'register_change',
    format: 'JSONEachRow',
    clickhouse_settings: insertSettings,
    values: changes.map(({ before, after, register = 'padron_reducido', edition, corrects = null }) => {
      const { code, columns } = registers[register];
      return {
        ruc: (before ?? after)!.split('|')[0],
        register: code,
        edition,
        op: before === null ? 'c' : after === null ? 'd' : 'u',
        before: cellsOf(before, columns.length),
        after: cellsOf(after, columns.length),
        detected_at: '2026-11-26 07:00:00.000',
        corrects,
      };
    }),
  });
  await insertTaxpayers(
    clickhouse,
    changes.map(({ before, after, register = 'padron_reducido', edition }) => ({
      line: (after ?? before)!,
      register,
      version: edition,
      isDeleted: after === null,
    })),
  );
}
