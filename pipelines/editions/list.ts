import type { RegisterName } from '../../schemas/registers.ts';
import type { Pool } from '../runtime/postgres.ts';

/** A served edition as data engineers see it. Counts are null for an edition whose comparison did not keep them. */
export interface ListedEdition {
  register: RegisterName;
  number: number;
  /** The edition's own date, which does not move when the site publishes the same bytes again. */
  fechaDato: string;
  publishedAt: Date;
  detectedAt: Date;
  materialisedAt: Date;
  corrects: number | null;
  /** Number of records in the change file. */
  changes: number;
  changeFileSha256: string;
  /** Null for a correction. */
  publicationSha256: string | null;
  rows: number | null;
  baseline: number | null;
  inserted: number | null;
  updated: number | null;
  deleted: number | null;
}

const count = (name: string) => `(e.counts->>'${name}')::bigint`;
/** An edition that look-ups do not show yet is not listed. */
const served = `SELECT e.register, e.number, e.fecha_dato AS "fechaDato", e.published_at AS "publishedAt",
    e.detected_at AS "detectedAt", e.materializada_at AS "materialisedAt", e.corrects, e.changes,
    e.change_file_sha256 AS "changeFileSha256", p.sha256 AS "publicationSha256", ${count('stateRows')} AS rows,
    ${count('baseline')} AS baseline, ${count('inserted')} AS inserted, ${count('updated')} AS updated,
    ${count('deleted')} AS deleted
  FROM edition e LEFT JOIN publication p ON p.id = e.publication_id
  WHERE e.register = $1 AND e.materializada_at IS NOT NULL`;

/**
 * Returns served editions, newest first.
 * @param before only editions with a lower number
 */
export async function pageEditions(
  pool: Pool,
  filter: { register: RegisterName; before: number | null; from: string | null; to: string | null },
  maxRows: number,
): Promise<ListedEdition[]> {
  const { rows } = await pool.query<ListedEdition>({
    name: 'page-editions',
    text: `${served} AND ($2::bigint IS NULL OR e.number < $2) AND ($3::date IS NULL OR e.fecha_dato >= $3)
      AND ($4::date IS NULL OR e.fecha_dato <= $4) ORDER BY e.number DESC LIMIT $5`,
    values: [filter.register, filter.before, filter.from, filter.to, maxRows],
  });
  return rows;
}

/** Returns null when the register has no served edition of this number. */
export async function servedEdition(pool: Pool, register: RegisterName, number: number): Promise<ListedEdition | null> {
  const { rows } = await pool.query<ListedEdition>({
    name: 'served-edition',
    text: `${served} AND e.number = $2`,
    values: [register, number],
  });
  return rows[0] ?? null;
}
