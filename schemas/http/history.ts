import { z } from 'zod';
import { registerNames } from '../registers.ts';
import { sanctionSchema } from '../sanctions.ts';
import { answerOf, day, limitParameter } from './envelope.ts';
import { source } from './taxpayer.ts';

export const historyQuery = z.strictObject({ limite: limitParameter(200, 50), cursor: z.string().optional() });

const historyOperations = ['alta', 'cambio', 'baja'] as const;

/** As the look-up shows it; null: the register did not say. */
const value = z.union([z.string(), z.boolean(), z.int(), z.array(sanctionSchema)]).nullable();

/** One field that an edition of a register changed. */
const historyEntry = z.strictObject({
  /** Of the edition that changed it. */
  fecha_dato: day,
  registro: z.enum(registerNames),
  operacion: z.enum(historyOperations),
  /** As in the taxpayer's record where it is a field of it, else the register's own column; `ruc`: the RUC's being there. */
  campo: z.string(),
  antes: value,
  despues: value,
  /** Of a correction: the edition that it undid, and its date. */
  correccion: z.strictObject({ edicion: z.int().min(1), fecha_dato: day }).nullable(),
});
export type HistoryEntry = z.infer<typeof historyEntry>;

const historyMeta = z.strictObject({
  origen: z.string(),
  /** The daily register's; each register's own stands in `fuentes`. */
  fecha_dato: day,
  fuentes: z.array(source),
  /** null on the last page. */
  cursor: z.string().nullable(),
});
export type HistoryMeta = z.infer<typeof historyMeta>;

export const historyAnswer = answerOf(z.array(historyEntry), historyMeta);
