import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import type { Pool } from '../runtime/postgres.ts';

/** The edition that look-ups show: the highest one that stands complete in ClickHouse, or that did on a past day. */
export interface ServedEdition {
  number: number;
  /** YYYY-MM-DD; moves forward when the same bytes are published again, of a past day up to that day. */
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
 *
 * With `day` (YYYY-MM-DD) the editions as of it: the highest-numbered one that is dated that day or before, and of its dates
 * the last one up to it. A correction has the date of the head that it corrected, so it counts from that day on and the days
 * before it stay as they were told. A date that was only confirmed has no days in between: until the last confirmation the
 * edition keeps its own.
 */
export async function servedEditions(pool: Pool, day?: string): Promise<Map<RegisterName, ServedEdition>> {
  const latest = `SELECT latest.* FROM unnest($1::text[]) AS wanted (register) CROSS JOIN LATERAL (
    SELECT * FROM edition WHERE register = wanted.register AND materializada_at IS NOT NULL AND fecha_dato <= $2::date
    ORDER BY number DESC LIMIT 1
  ) latest`;
  const values = [registerNames, day ?? endOfTime];
  const query = { name: 'served-editions', text: describeEditions(latest, '$2::date'), values };
  const { rows } = await pool.query<Row>(query);
  return new Map(rows.map((row) => [row.register, editionFrom(row)]));
}

const endOfTime = 'infinity';

/** The first day for which the register has a complete edition; null: it was never loaded. */
export async function firstServedDay(pool: Pool, register: RegisterName): Promise<string | null> {
  const { rows } = await pool.query<{ day: string | null }>({
    name: 'first-served-day',
    text: 'SELECT min(fecha_dato) AS day FROM edition WHERE register = $1 AND materializada_at IS NOT NULL',
    values: [register],
  });
  return rows[0]!.day;
}

/** One edition, whether it is materialised or still on its way; null: no such number. */
export async function editionOf(pool: Pool, register: RegisterName, number: number): Promise<ServedEdition | null> {
  const one = 'SELECT * FROM edition WHERE register = $1 AND number = $2';
  const query = { name: 'edition-of', text: describeEditions(one, `'${endOfTime}'::date`), values: [register, number] };
  const { rows } = await pool.query<Row>(query);
  return rows[0] === undefined ? null : editionFrom(rows[0]);
}

function describeEditions(editions: string, lastDay: string): string {
  return `
    SELECT e.register, e.number, own.sha256, e.materializada_at AS materialised_at,
           greatest(e.fecha_dato, shown.fecha_dato, again.fecha_dato) AS fecha_dato,
           greatest(e.published_at, again.published_at) AS published_at
    FROM (${editions}) e
    LEFT JOIN publication own ON own.id = e.publication_id
    LEFT JOIN LATERAL (
      SELECT p.sha256, CASE WHEN p.fecha_dato <= ${lastDay} THEN p.fecha_dato END AS fecha_dato
      FROM edition base JOIN publication p ON p.id = base.publication_id
      WHERE base.register = e.register AND base.number <= e.number ORDER BY base.number DESC LIMIT 1
    ) shown ON true
    LEFT JOIN LATERAL (
      SELECT max(r.fecha_dato) AS fecha_dato, max(r.published_at) AS published_at FROM publication r
      WHERE r.register = e.register AND r.sha256 = shown.sha256 AND r.state = 'repetida' AND r.fecha_dato <= ${lastDay}
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
