import type { RegisterName } from '../../schemas/registers.ts';
import type { Archive } from '../archive/archive.ts';
import type { Pool } from '../runtime/postgres.ts';
import { ReplayError } from './errors.ts';

/** An end of a stretch of history: an edition's number, or a date of the data (YYYY-MM-DD). Both ends are included. */
export type Bound = { edition: number } | { date: string };

export interface SelectedEdition {
  register: RegisterName;
  edition: number;
  /** Date of the data, YYYY-MM-DD. */
  fechaDato: string;
  /** Local file of its change file. */
  path: string;
  changes: number;
  /** Every notice of it is written. */
  notified: boolean;
}

interface Row {
  number: number;
  fecha_dato: string;
  sha256: string;
  changes: number;
  notified: boolean;
}

/**
 * The editions between two bounds, oldest first, with their change files.
 * @throws ReplayError `edition_unknown` where there is none; ArchiveError where a change file is gone
 */
export async function selectEditions(
  { pool, archive }: { pool: Pool; archive: Archive },
  register: RegisterName,
  from: Bound,
  to: Bound,
): Promise<SelectedEdition[]> {
  const { rows } = await pool.query<Row>({
    name: 'replay-selection',
    text: `SELECT number, fecha_dato, change_file_sha256 AS sha256, changes, avisada_at IS NOT NULL AS notified FROM edition
      WHERE register = $1 AND ($2::bigint IS NULL OR number >= $2) AND ($3::date IS NULL OR fecha_dato >= $3)
        AND ($4::bigint IS NULL OR number <= $4) AND ($5::date IS NULL OR fecha_dato <= $5)
      ORDER BY number`,
    values: [register, ...valuesOf(from), ...valuesOf(to)],
  });
  if (rows.length === 0) throw new ReplayError('edition_unknown', `${register} has no edition in this stretch`);
  const selected: SelectedEdition[] = [];
  for (const { number, fecha_dato, sha256, changes, notified } of rows) {
    const path = await archive.localFile({ register, kind: 'changes', sha256 });
    selected.push({ register, edition: number, fechaDato: fecha_dato, path, changes, notified });
  }
  return selected;
}

function valuesOf(bound: Bound): [number | null, string | null] {
  return 'edition' in bound ? [bound.edition, null] : [null, bound.date];
}
