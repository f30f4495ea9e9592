import type { Pool } from '../../deploy/runtime/postgres.ts';
import type { RegisterName } from '../../schemas/registers.ts';

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
  number: number;
  fecha_dato: string;
  published_at: Date;
  materialised_at: Date | null;
  sha256: string | null;
}

/**
 * null: the register has no materialised edition yet. Same bytes published again make a publication (`repetida`) and no
 * edition: the newest of them gives the dates, also while the next edition is on its way.
 */
export function latestMaterialised(pool: Pool, register: RegisterName): Promise<ServedEdition | null> {
  const text = `${selectEdition} WHERE e.register = $1 AND e.materializada_at IS NOT NULL ORDER BY e.number DESC LIMIT 1`;
  return readEdition(pool, { name: 'latest-materialised', text, values: [register] });
}

/** One edition, whether it is materialised or still on its way; null: no such number. */
export function editionOf(pool: Pool, register: RegisterName, number: number): Promise<ServedEdition | null> {
  const text = `${selectEdition} WHERE e.register = $1 AND e.number = $2`;
  return readEdition(pool, { name: 'edition-of', text, values: [register, number] });
}

const selectEdition = `
  SELECT e.number, p.sha256, e.materializada_at AS materialised_at,
         greatest(e.fecha_dato, again.fecha_dato) AS fecha_dato,
         greatest(e.published_at, again.published_at) AS published_at
  FROM edition e
  LEFT JOIN publication p ON p.id = e.publication_id
  LEFT JOIN LATERAL (
    SELECT max(r.fecha_dato) AS fecha_dato, max(r.published_at) AS published_at FROM publication r
    WHERE r.register = e.register AND r.sha256 = p.sha256 AND r.state = 'repetida'
  ) again ON true`;

async function readEdition(
  pool: Pool,
  query: { name: string; text: string; values: unknown[] },
): Promise<ServedEdition | null> {
  const { rows } = await pool.query<Row>(query);
  const row = rows[0];
  if (row === undefined) return null;
  return {
    number: row.number,
    fechaDato: row.fecha_dato,
    publishedAt: row.published_at,
    materialisedAt: row.materialised_at,
    sha256: row.sha256,
  };
}
