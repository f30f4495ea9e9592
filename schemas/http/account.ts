import { z } from 'zod';
import { answerOf, day, keptText, limaTimestamp, registerMeta } from './envelope.ts';
import type { Operations } from './operation.ts';

/**
 * What a session of the console may do. `ver`: see everything that the account may see. `ver_secretos`: make and rotate
 * the secrets of webhooks, which are then shown. `gestionar_tokens`: make and revoke tokens, and end sessions.
 */
export const capabilities = ['ver', 'gestionar_webhooks', 'ver_secretos', 'reenviar', 'gestionar_tokens'] as const;
export type Capability = (typeof capabilities)[number];

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

/** Hours for which a link into the console may be used. */
export const linkHours = { least: 1, preset: 24, most: 168 } as const;

/** `ver` is always among the capabilities of a link. */
export const newLink = z.strictObject({
  permisos: z.array(z.enum(capabilities)).default(['ver']),
  para: keptText(60).min(1, 'no puede estar vacío').optional(),
  horas: z.int().min(linkHours.least).max(linkHours.most).default(linkHours.preset),
});
const madeLink = z.strictObject({
  id: z.uuid(),
  /** The link with its secret. No later answer shows it again. */
  enlace: z.string(),
  permisos: z.array(z.enum(capabilities)),
  vence_en: limaTimestamp,
});
export const linkAnswer = answerOf(madeLink, registerMeta);

export const accountAnswer = answerOf(accountSummary, registerMeta);

export const accountOperations = {
  verCuenta: {
    summary: 'Plan, cuota usada, saldo y límites de la cuenta',
    answer: accountAnswer,
  },
  crearEnlace: {
    summary: 'Un enlace que abre la consola una sola vez',
    description:
      'Para que un colega entre sin token. Permite ver, y además lo de `permisos`. Deja de valer al usarse, al vencer o cuando se revoca el token con que se creó. Abrirlo muestra un botón; solo el botón lo usa.',
    body: newLink,
    isBodyOptional: true,
    answer: linkAnswer,
  },
} as const satisfies Operations;
