import { z } from 'zod';

/**
 * One sanction in a cell `sanciones`, which is a JSON list. The keys are written in this order. Only administrative
 * sanctions have `motivos` and `motivo`. Only judicial sanctions have `organo` (the court).
 */
export const sanctionSchema = z.strictObject({
  /** The supplier's name in this row of the source. Another row may spell it differently. */
  nombre: z.string(),
  /** The first day, YYYY-MM-DD. null: the source gives none. Any other text is a day that cannot be read. */
  desde: z.string().nullable(),
  /** The last day, written in the same way as `desde`. null: the sanction has no end. */
  hasta: z.string().nullable(),
  resolucion: z.string(),
  /** Numbers of the infractions. */
  motivos: z.array(z.string()).optional(),
  motivo: z.string().optional(),
  organo: z.string().optional(),
});
export type Sanction = z.infer<typeof sanctionSchema>;

/** Reads a `sanciones` cell. Throws if the cell is not a JSON list of sanctions in the form of `sanctionSchema`. */
export function sanctionsOf(cell: string): Sanction[] {
  return z.array(sanctionSchema).parse(JSON.parse(cell));
}

const isoDay = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Whether a sanction bars its supplier on a day (YYYY-MM-DD). Returns null if the dates that decide are missing or
 * unreadable.
 * - The last day is included. Most terms end on the day of the month on which they start (5 March to 5 June). We assume
 *   the civil way of counting, in which such a term is whole months without its first day and with its last.
 * - A sanction that ends before it starts was annulled and was never in force.
 * - The source does not show that a court suspended a sanction, so a suspended sanction counts as in force.
 */
export function inForce({ desde, hasta }: Pick<Sanction, 'desde' | 'hasta'>, day: string): boolean | null {
  const start = desde !== null && isoDay.test(desde) ? desde : null;
  const end = hasta !== null && isoDay.test(hasta) ? hasta : null;
  if (start !== null && day < start) return false;
  if (end !== null && (day > end || (start !== null && end < start))) return false;
  if (start === null || (hasta !== null && end === null)) return null;
  return true;
}
