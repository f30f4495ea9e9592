import type { ClickHouseClient } from '../../deploy/runtime/clickhouse.ts';
import { insertSettings } from '../../deploy/runtime/clickhouse.ts';
import type { Pool } from '../../deploy/runtime/postgres.ts';
import { padronReducido } from '../../schemas/registers.ts';

/** Puts rows and editions where the pipeline would, for tests of what reads them. */
export interface TestRow {
  /** A line of the register in its own form: RUC and cells between pipes. */
  line: string;
  version?: number;
  isDeleted?: boolean;
}

export async function insertTaxpayers(clickhouse: ClickHouseClient, rows: readonly TestRow[]): Promise<void> {
  await clickhouse.insert({
    table: 'taxpayer',
    format: 'JSONEachRow',
    clickhouse_settings: insertSettings,
    values: rows.map(({ line, version = 1, isDeleted = false }) => {
      const [ruc, ...cells] = line.split('|');
      const row = JSON.stringify(cells.slice(0, padronReducido.columns.length));
      return { ruc, register: padronReducido.code, version, is_deleted: isDeleted ? 1 : 0, row };
    }),
  });
}

export interface TestEdition {
  number: number;
  fechaDato: string;
  publishedAt?: string;
  materialisedAt?: string | null;
  sha256?: string;
}

export async function insertEdition(pool: Pool, edition: TestEdition): Promise<void> {
  const { number, fechaDato, publishedAt = `${fechaDato}T07:38:00Z`, sha256 = 'ab'.repeat(32) } = edition;
  const materialisedAt = edition.materialisedAt === undefined ? `${fechaDato}T09:00:00Z` : edition.materialisedAt;
  const { rows } = await pool.query<{ id: number }>(
    `INSERT INTO publication (register, sha256, fecha_dato, published_at, state)
     VALUES ('padron_reducido', $1, $2, $3, 'publicada') RETURNING id`,
    [sha256, fechaDato, publishedAt],
  );
  await pool.query(
    `INSERT INTO edition (register, number, publication_id, fecha_dato, published_at, detected_at, change_file_sha256,
       parser_version, columns, changes, counts, publicada_at, materializada_at)
     VALUES ('padron_reducido', $1, $2, $3, $4, $4, $5, 1, '{}', 1, '{}', $4, $6)`,
    [number, rows[0]!.id, fechaDato, publishedAt, 'cd'.repeat(32), materialisedAt],
  );
}
