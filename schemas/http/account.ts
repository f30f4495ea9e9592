import { z } from 'zod';
import { answerOf, day, limaTimestamp, registerMeta } from './envelope.ts';

/** What the caller's account may use and has used. Use of the last second may not be in it yet. */
const accountSummary = z.strictObject({
  plan: z.string(),
  cuota: z.strictObject({
    /** Of the plan, per calendar month in Lima. */
    limite: z.int().min(0),
    usada: z.int().min(0),
    /** Units bought and not used: drawn when the month's quota is used up. They do not lapse. */
    saldo_prepago: z.int().min(0),
    reinicia_en: limaTimestamp,
  }),
  /** The data-processing contract in force today; null: natural persons' records are closed. */
  contrato_datos: z.strictObject({ referencia: z.string(), desde: day, hasta: day.nullable() }).nullable(),
  limites: z.strictObject({
    /** Of all routes together, in each clock minute. */
    solicitudes_por_minuto: z.int().positive(),
    rucs_por_lote: z.int().positive(),
    listas: z.int().positive(),
    webhooks: z.int().positive(),
    rucs_vigilados: z.int().positive(),
  }),
});
export type AccountSummary = z.infer<typeof accountSummary>;

export const accountAnswer = answerOf(accountSummary, registerMeta);
