import { z } from 'zod';
import { eventKinds } from '../registers.ts';
import { answerOf, instant, keptText, limaTimestamp, limitParameter, pageMeta, registerMeta } from './envelope.ts';

const eventos = z.array(z.enum(eventKinds)).min(1, 'una lista vacía no recibiría nada; omita el campo para todos');
const listas = z.array(z.int()).min(1, 'una lista vacía no recibiría nada; omita el campo para todas').max(1_000);

const descripcion = keptText(200);

/** `eventos` and `listas` omitted mean all of them, those made later too. */
export const newWebhook = z.strictObject({
  url: z.string().min(1),
  eventos: eventos.optional(),
  listas: listas.optional(),
  descripcion: descripcion.optional(),
  limite_por_segundo: z.int().min(1).max(200).optional(),
  en_vuelo: z.int().min(1).max(50).optional(),
});

/** A field left out stays; null of `eventos` or `listas` means all, of `descripcion` none. */
export const webhookPatch = z
  .strictObject({
    ...newWebhook.shape,
    url: newWebhook.shape.url.optional(),
    eventos: eventos.nullable().optional(),
    listas: listas.nullable().optional(),
    descripcion: descripcion.nullable().optional(),
  })
  .refine((patch) => Object.keys(patch).length > 0, 'no trae ningún campo que cambiar');

const webhook = z.strictObject({
  id: z.string(),
  url: z.string(),
  eventos: z.array(z.enum(eventKinds)).nullable(),
  listas: z.array(z.int()).nullable(),
  descripcion: z.string().nullable(),
  limite_por_segundo: z.int(),
  en_vuelo: z.int(),
  estado: z.enum(['activo', 'pausado']),
  pausado_por: z.enum(['fallos', 'respuesta_410', 'cliente']).nullable(),
  fallos_consecutivos: z.int(),
  /** Deliveries not sent yet, held ones too. */
  pendientes: z.int(),
  ultima_entrega: limaTimestamp.nullable(),
  creado_en: limaTimestamp,
});
/** The secret is shown this once: 32 bytes that sign every notice. */
const createdWebhook = webhook.extend({ secreto: z.string().regex(/^whsec_[A-Za-z0-9+/]{43}=$/) });

export const createdWebhookAnswer = answerOf(createdWebhook, registerMeta);
export const webhookAnswer = answerOf(webhook, registerMeta);
export const webhooksAnswer = answerOf(z.array(webhook), registerMeta);

/** What becomes of the deliveries held while it was paused: all sent, none sent, or those since an instant. */
export const resumption = z.strictObject({
  pendientes: z
    .union([z.enum(['todos', 'ninguno']), z.strictObject({ desde: instant })], {
      error: 'debe ser "todos", "ninguno" o {"desde": "2026-11-27T09:00:00-05:00"}',
    })
    .default('todos'),
});

/** For how many hours the secret before the new one still signs, beside it. */
export const rotation = z.strictObject({ gracia_horas: z.int().min(0).max(168).default(24) });
export const rotatedSecretAnswer = answerOf(
  z.strictObject({
    secreto: z.string().regex(/^whsec_[A-Za-z0-9+/]{43}=$/),
    anterior_vence_en: limaTimestamp,
  }),
  registerMeta,
);

/** What the account is told about its webhooks besides the events. */
const notice = z.strictObject({
  id: z.int(),
  aviso: z.enum(['webhook.por_pausar', 'webhook.pausado', 'webhook.reanudado']),
  webhook: z.string(),
  ocurrido_en: limaTimestamp,
  detalle: z.strictObject({
    porcentaje: z.union([z.literal(50), z.literal(90)]).optional(),
    primer_fallo_en: limaTimestamp.optional(),
    /** Of a webhook as in `pausado_por`; `plan`: the account's plan does not watch any more. */
    causa: z.enum(['fallos', 'respuesta_410', 'cliente', 'plan']).optional(),
    fallos_consecutivos: z.int().optional(),
    liberadas: z.int().optional(),
  }),
});
export const noticesQuery = z.strictObject({ limite: limitParameter(500, 100), cursor: z.string().optional() });
export const noticesAnswer = answerOf(z.array(notice), pageMeta);
