import type { Pool } from '../../deploy/runtime/postgres.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';

/** The edition that look-ups show: the highest one that stands complete in ClickHouse. */
export interface ServedEdition {
  number: number;
  /** YYYY-MM-DD; moves forward when the same bytes are published again. */
  fechaDato: string;
  publishedAt: Date;
  /** null while its rows are still being written. */
  materialisedAt: Date | null;
  /** Of the publication; null for a correction, which has none. */
  sha256: string | null;
}

interface Row {
  register: RegisterName;
  number: number;
  fecha_dato: string;
  published_at: Date;
  materialised_at: Date | null;
  sha256: string | null;
}

/**
 * The served edition of each register that has one, in one statement: what one answer says of several registers is of one
 * moment. Same bytes published again make a publication (`repetida`) and no edition: the newest of them gives the dates,
 * also while the next edition is on its way. A correction keeps the publication that was the head's: published again, that
 * one moves the correction's dates. Where the source only says that its bytes are still good, that publication's own date
 * has moved (data-date.ts).
 */
export async function servedEditions(pool: Pool): Promise<Map<RegisterName, ServedEdition>> {
  const latest = `SELECT latest.* FROM unnest($1::text[]) AS wanted (register) CROSS JOIN LATERAL (
    SELECT * FROM edition WHERE register = wanted.register AND materializada_at IS NOT NULL ORDER BY number DESC LIMIT 1
  ) latest`;
  const query = { name: 'served-editions', text: describeEditions(latest), values: [registerNames] };
  const { rows } = await pool.query<Row>(query);
  return new Map(rows.map((row) => [row.register, editionFrom(row)]));
}

/** One edition, whether it is materialised or still on its way; null: no such number. */
export async function editionOf(pool: Pool, register: RegisterName, number: number): Promise<ServedEdition | null> {
  const one = 'SELECT * FROM edition WHERE register = $1 AND number = $2';
  const query = { name: 'edition-of', text: describeEditions(one), values: [register, number] };
  const { rows } = await pool.query<Row>(query);
  return rows[0] === undefined ? null : editionFrom(rows[0]);
}

function describeEditions(editions: string): string {
  return `
    SELECT e.register, e.number, own.sha256, e.materializada_at AS materialised_at,
           greatest(e.fecha_dato, shown.fecha_dato, again.fecha_dato) AS fecha_dato,
           greatest(e.published_at, again.published_at) AS published_at
    FROM (${editions}) e
    LEFT JOIN publication own ON own.id = e.publication_id
    LEFT JOIN LATERAL (
      SELECT p.sha256, p.fecha_dato FROM edition base JOIN publication p ON p.id = base.publication_id
      WHERE base.register = e.register AND base.number <= e.number ORDER BY base.number DESC LIMIT 1
    ) shown ON true
    LEFT JOIN LATERAL (
      SELECT max(r.fecha_dato) AS fecha_dato, max(r.published_at) AS published_at FROM publication r
      WHERE r.register = e.register AND r.sha256 = shown.sha256 AND r.state = 'repetida'
    ) again ON true`;
}

function editionFrom(row: Row): ServedEdition {
  return {
    number: row.number,
    fechaDato: row.fecha_dato,
    publishedAt: row.published_at,
    materialisedAt: row.materialised_at,
    sha256: row.sha256,
  };
}
