import { z } from 'zod';
import { registerNames } from '../registers.ts';
import { sanctionSchema } from '../sanctions.ts';
import { answerOf, day, pageQuery } from './envelope.ts';
import type { Operations } from './operation.ts';
import { rucProblems, source } from './taxpayer.ts';

/** A value as the look-up of a taxpayer shows it. Null: the register had no value. */
const value = z.union([z.string(), z.boolean(), z.int(), z.array(sanctionSchema)]).nullable();

/** One field that an edition changed. */
const historyEntry = z.strictObject({
  /** The date of the edition that changed the field. */
  fecha_dato: day,
  registro: z.enum(registerNames),
  operacion: z.enum(['alta', 'cambio', 'baja']),
  /**
   * A field of the taxpayer's record, a column of the register, or `ruc` when the RUC itself appeared or disappeared.
   */
  campo: z.string(),
  antes: value,
  despues: value,
  /** Set only if a correction made the change: the corrected edition and its date. */
  correccion: z.strictObject({ edicion: z.int().min(1), fecha_dato: day }).nullable(),
});
export type HistoryEntry = z.infer<typeof historyEntry>;

const historyMeta = z.strictObject({
  origen: z.string(),
  /** The daily register's date. `fuentes` has the date of each register. */
  fecha_dato: day,
  fuentes: z.array(source),
  /** The cursor for the next page; null on the last page. */
  cursor: z.string().nullable(),
});

export const historyAnswer = answerOf(z.array(historyEntry), historyMeta);

export const historyOperations = {
  verHistorial: {
    summary: 'Lo que cada publicación cambió de un contribuyente',
    description: 'Lo más reciente primero: qué campo, de qué padrón, en qué fecha, de qué valor a cuál.',
    query: pageQuery(200, 50),
    answer: historyAnswer,
    problems: [...rucProblems],
  },
} as const satisfies Operations;
