import { z } from 'zod';
import { answerOf, day, limaTimestamp, registerMeta } from './envelope.ts';
import type { Operations } from './operation.ts';

/** What the account may use and what it has used. Look-ups of the last second may still be missing. */
const accountSummary = z.strictObject({
  plan: z.string(),
  cuota: z.strictObject({
    /** Look-ups that the plan includes per calendar month in Lima. */
    limite: z.int().min(0),
    usada: z.int().min(0),
    /** Bought look-ups, which are used after the month's quota and do not expire. */
    saldo_prepago: z.int().min(0),
    reinicia_en: limaTimestamp,
  }),
  /** The data-processing contract in force today. If it is null, the account cannot read natural persons' records. */
  contrato_datos: z.strictObject({ referencia: z.string(), desde: day, hasta: day.nullable() }).nullable(),
  limites: z.strictObject({
    /** Largest number of requests to all routes together in one clock minute. */
    solicitudes_por_minuto: z.int().min(1),
    rucs_por_lote: z.int().min(1),
    listas: z.int().min(1),
    webhooks: z.int().min(1),
    rucs_vigilados: z.int().min(1),
  }),
});

export const accountAnswer = answerOf(accountSummary, registerMeta);

export const accountOperations = {
  verCuenta: {
    summary: 'Plan, cuota usada, saldo y límites de la cuenta',
    answer: accountAnswer,
  },
} as const satisfies Operations;
