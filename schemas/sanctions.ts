import { z } from 'zod';

/**
 * One sanction of a supplier, an entry of the JSON list in the cell `sanciones` of the three registers of bars. Keys are in this
 * order. Administrative sanctions have `motivos` and `motivo`, judicial ones `organo` (the court), and all have the others.
 */
export const sanctionSchema = z.strictObject({
  /** The supplier's name in this row of the source. Another row may spell it differently. */
  nombre: z.string(),
  /** First day, YYYY-MM-DD. null: the source gives none. Any other text is the source's own and unreadable as a day. */
  desde: z.string().nullable(),
  /** Last day, written in the same way. null: the sanction has no end. */
  hasta: z.string().nullable(),
  resolucion: z.string(),
  /** Numbers of the infractions. */
  motivos: z.array(z.string()).optional(),
  motivo: z.string().optional(),
  organo: z.string().optional(),
});
export type Sanction = z.infer<typeof sanctionSchema>;

/** Reads a `sanciones` cell. Throws on a cell that none of our readers wrote. */
export function sanctionsOf(cell: string): Sanction[] {
  return z.array(sanctionSchema).parse(JSON.parse(cell));
}

const isoDay = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Whether a sanction bars its supplier on a day (YYYY-MM-DD) by its dates alone: from its first day to its last, both included.
 * A sanction without an end goes on. One that ends before it starts was annulled and never in force. That the last day is
 * barred is an assumption from the data: most terms end on the day number on which they start. null: the deciding dates are
 * missing or unreadable. A court's suspension of a sanction leaves no trace in the source.
 */
export function inForce({ desde, hasta }: Pick<Sanction, 'desde' | 'hasta'>, day: string): boolean | null {
  const start = desde !== null && isoDay.test(desde) ? desde : null;
  const end = hasta !== null && isoDay.test(hasta) ? hasta : null;
  if (start !== null && day < start) return false;
  if (end !== null && (day > end || (start !== null && end < start))) return false;
  if (start === null || (hasta !== null && end === null)) return null;
  return true;
}
