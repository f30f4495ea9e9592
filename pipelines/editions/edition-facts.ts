import type { RegisterName } from '../../schemas/registers.ts';
import type { Pool } from '../runtime/postgres.ts';

/** What a reader of stored rows needs to know of the edition that wrote them. None of it ever changes. */
export interface EditionFacts {
  register: RegisterName;
  number: number;
  /** YYYY-MM-DD: the day of its first publication, or of the head that it corrected. */
  fechaDato: string;
  /** The number of the edition that it undoes. */
  corrects: number | null;
  /** What the cells of its rows hold, in order: a later release may have other columns. */
  columns: readonly string[];
  /** It wrote every row of the register (the first edition, a re-baseline): rows without a change, which history does not have. */
  isFull: boolean;
}

/** In any order; numbers that do not exist are left out. */
export async function editionFacts(
  pool: Pool,
  wanted: readonly { register: RegisterName; number: number }[],
): Promise<EditionFacts[]> {
  const { rows } = await pool.query<EditionFacts>({
    name: 'edition-facts',
    text: `SELECT register, number, fecha_dato AS "fechaDato", corrects, columns,
                  COALESCE((counts->>'baseline')::bigint, 0) > 0 AS "isFull"
           FROM unnest($1::text[], $2::bigint[]) AS wanted (register, number) JOIN edition USING (register, number)`,
    values: [wanted.map(({ register }) => register), wanted.map(({ number }) => number)],
  });
  return rows;
}
