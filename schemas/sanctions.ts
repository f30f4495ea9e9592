import { z } from 'zod';

/**
 * One sanction of a supplier, as an entry of the cell `sanciones` (a JSON list) of the three registers of bars. The keys stand in this
 * order. `motivos` and `motivo` are of administrative sanctions, `organo` (the court) of judicial ones; the others are always there.
 */
export const sanctionSchema = z.strictObject({
  /** As this row of the source names the supplier; another row may write it otherwise. */
  nombre: z.string(),
  /** First day, YYYY-MM-DD; null: the source gives none; any other text is the source's own, unreadable as a day. */
  desde: z.string().nullable(),
  /** Last day, written in the same way; null: without end (definitive). */
  hasta: z.string().nullable(),
  resolucion: z.string(),
  /** Numbers of the infractions. */
  motivos: z.array(z.string()).optional(),
  motivo: z.string().optional(),
  organo: z.string().optional(),
});
export type Sanction = z.infer<typeof sanctionSchema>;

/** The sanctions in a `sanciones` cell. Throws on a cell that no reader of ours wrote. */
export function sanctionsOf(cell: string): Sanction[] {
  return z.array(sanctionSchema).parse(JSON.parse(cell));
}

const isoDay = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Whether a sanction bars its supplier on a day (YYYY-MM-DD), by its dates alone: from its first day to its last, both
 * included; without end it goes on; an end before the start (a bar that was annulled) was never in force. That the last day is
 * barred is an assumption from the data: most terms end on the same day number on which they start. Null: the dates that
 * would decide are missing or unreadable. A suspension by a court leaves no trace in the source.
 */
export function inForce({ desde, hasta }: Pick<Sanction, 'desde' | 'hasta'>, day: string): boolean | null {
  const start = desde !== null && isoDay.test(desde) ? desde : null;
  const end = hasta !== null && isoDay.test(hasta) ? hasta : null;
  if (start !== null && day < start) return false;
  if (end !== null && (day > end || (start !== null && end < start))) return false;
  if (start === null || (hasta !== null && end === null)) return null;
  return true;
}
