import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import type { Pool } from '../runtime/postgres.ts';

/**
 * An edition and the dates that answers show for it. Look-ups serve the register's highest edition that is complete in
 * ClickHouse. Look-ups as of a past day skip editions whose own date is after that day.
 */
export interface ServedEdition {
  register: RegisterName;
  number: number;
  /**
   * Date of the data, YYYY-MM-DD. The site may publish the same bytes again with a later date. The edition then gets
   * the later date, unless a look-up asks for a day before that date.
   */
  fechaDato: string;
  publishedAt: Date;
  /** Null while the edition's rows are still being written. */
  materialisedAt: Date | null;
  /** Hash of the publication. Null for a correction, which has none. */
  sha256: string | null;
  /** When the edition was completed or last got other dates. Null while its rows are still being written. */
  changedAt: Date | null;
  /** Whether a later edition of the register exists whose rows are still being written. */
  isNextUnfinished: boolean;
}

/**
 * Returns the served edition of each register that has one. One statement reads all registers, so that an answer about
 * several registers shows one moment. An edition's dates can move forward without a new edition:
 * - When the site publishes the same bytes again, they become a publication in state `repetida`. The edition made from
 *   these bytes gets the dates of the newest such publication.
 * - When the site only gives the same publication a later date, `confirmDate` stores that date in the publication.
 * - A correction's dates move with the publication of the head that the correction was made from.
 * @param day YYYY-MM-DD. With it, a register's served edition is the highest one whose own date is not after `day`. A
 *   correction's own date is that of the head that it was made from, so answers for earlier days stay the same. A moved
 *   date counts only if it is not after `day`. Each date of `confirmDate` replaces the one before it, so a date that is
 *   replaced by one after `day` no longer counts. `changedAt` counts every move of a date, also to a day after `day`.
 */
export async function servedEditions(pool: Pool, day?: string): Promise<Map<RegisterName, ServedEdition>> {
  const values = [registerNames, day ?? endOfTime];
  const query = { name: 'served-editions', text: describeEditions(latestEditions, '$2::date'), values };
  const { rows } = await pool.query<ServedEdition>(query);
  return new Map(rows.map((edition) => [edition.register, edition]));
}

const latestEditions = `SELECT latest.* FROM unnest($1::text[]) AS wanted (register) CROSS JOIN LATERAL (
    SELECT * FROM edition WHERE register = wanted.register AND materializada_at IS NOT NULL AND fecha_dato <= $2::date
    ORDER BY number DESC LIMIT 1
  ) latest`;

/** ClickHouse replicas by name, each with the id of its store (null: not known). */
export type Holders = ReadonlyMap<string, string | null>;

/**
 * Returns the served editions of today, and the ClickHouse replicas that serve and hold all of them. One statement reads
 * both. So whoever asks one of these replicas never shows a date that is newer than the replica's rows.
 */
export async function servedEditionsAndHolders(
  pool: Pool,
): Promise<{ served: Map<RegisterName, ServedEdition>; holders: Holders }> {
  const query = {
    name: 'served-editions-and-holders',
    text: `SELECT served.*, (
        SELECT COALESCE(jsonb_object_agg(name, store), '{}') FROM clickhouse_replica
        JOIN replica_edition held ON held.replica = name AND held.register = served.register
        WHERE state = 'serving' AND removed_at IS NULL AND held.edition >= served.number) AS holders
      FROM (${describeEditions(latestEditions, '$2::date')}) AS served`,
    values: [registerNames, endOfTime],
  };
  const { rows } = await pool.query<ServedEdition & { holders: Record<string, string | null> }>(query);
  const [first, ...others] = rows.map(({ holders }) => new Map(Object.entries(holders)));
  const holders = [...(first ?? [])].filter(([name]) => others.every((each) => each.has(name)));
  const served = rows.map(({ holders: _, ...edition }) => [edition.register, edition] as const);
  return { served: new Map(served), holders: new Map(holders) };
}

const endOfTime = 'infinity';

/** The first day for which the register has a complete edition. Null when the register was never loaded. */
export async function firstServedDay(pool: Pool, register: RegisterName): Promise<string | null> {
  const { rows } = await pool.query<{ day: string | null }>({
    name: 'first-served-day',
    text: 'SELECT min(fecha_dato) AS day FROM edition WHERE register = $1 AND materializada_at IS NOT NULL',
    values: [register],
  });
  return rows[0]!.day;
}

/** One edition, materialised or not. Null when the register has no edition with this number. */
export async function editionOf(pool: Pool, register: RegisterName, number: number): Promise<ServedEdition | null> {
  const one = 'SELECT * FROM edition WHERE register = $1 AND number = $2';
  const query = { name: 'edition-of', text: describeEditions(one, `'${endOfTime}'::date`), values: [register, number] };
  const { rows } = await pool.query<ServedEdition>(query);
  return rows[0] ?? null;
}

function describeEditions(editions: string, lastDay: string): string {
  return `
    SELECT e.register, e.number, own.sha256, e.materializada_at AS "materialisedAt",
           greatest(e.fecha_dato, shown.fecha_dato, again.fecha_dato) AS "fechaDato",
           greatest(e.published_at, again.published_at) AS "publishedAt",
           CASE WHEN e.materializada_at IS NOT NULL
             THEN greatest(e.materializada_at, shown.dated_at, again.changed_at) END AS "changedAt",
           EXISTS (SELECT FROM edition next WHERE next.register = e.register AND next.number > e.number
             AND next.materializada_at IS NULL) AS "isNextUnfinished"
    FROM (${editions}) e
    LEFT JOIN publication own ON own.id = e.publication_id
    LEFT JOIN LATERAL (
      SELECT p.sha256, CASE WHEN p.fecha_dato <= ${lastDay} THEN p.fecha_dato END AS fecha_dato, p.dated_at
      FROM edition base JOIN publication p ON p.id = base.publication_id
      WHERE base.register = e.register AND base.number <= e.number ORDER BY base.number DESC LIMIT 1
    ) shown ON true
    LEFT JOIN LATERAL (
      SELECT max(r.fecha_dato) FILTER (WHERE r.fecha_dato <= ${lastDay}) AS fecha_dato,
             max(r.published_at) FILTER (WHERE r.fecha_dato <= ${lastDay}) AS published_at,
             max(greatest(r.state_at, r.dated_at)) AS changed_at
      FROM publication r
      WHERE r.register = e.register AND r.sha256 = shown.sha256 AND r.state = 'repetida'
    ) again ON true`;
}
