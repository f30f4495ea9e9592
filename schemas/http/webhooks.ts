import { z } from 'zod';
import { eventKinds } from '../registers.ts';
import { testAnswer } from './deliveries.ts';
import {
  answerOf,
  instant,
  keptText,
  limaTimestamp,
  noParameters,
  pageMeta,
  pageQuery,
  registerMeta,
} from './envelope.ts';
import type { Operations } from './operation.ts';

const eventos = z.array(z.enum(eventKinds)).min(1, 'una lista vacía no recibiría nada; omita el campo para todos');
/** An account has no more watch lists than this. */
const maxWebhookLists = 1_000;
const listas = z
  .array(z.int())
  .min(1, 'una lista vacía no recibiría nada; omita el campo para todas')
  .meta({ maxItems: maxWebhookLists });

const descripcion = keptText(200);

/**
 * Without `eventos`, the webhook gets events of every kind. Without `listas`, it gets the events of all watch lists,
 * also of lists that are created later.
 */
export const newWebhook = z.strictObject({
  url: z.string().min(1),
  eventos: eventos.optional(),
  listas: listas.optional(),
  descripcion: descripcion.optional(),
  limite_por_segundo: z.int().min(1).max(200).optional(),
  en_vuelo: z.int().min(1).max(50).optional(),
});

export type NewWebhook = z.infer<typeof newWebhook>;

/** An omitted field keeps its value. Null in `eventos` or `listas` means all. Null in `descripcion` means no text. */
const webhookPatch = z
  .strictObject({
    ...newWebhook.shape,
    url: newWebhook.shape.url.optional(),
    eventos: eventos.nullable().optional(),
    listas: listas.nullable().optional(),
    descripcion: descripcion.nullable().optional(),
  })
  .refine((patch) => Object.keys(patch).length > 0, 'no trae ningún campo que cambiar');
export type WebhookPatch = z.infer<typeof webhookPatch>;

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
  /** Number of deliveries that are not sent yet, including deliveries that are held while the webhook is paused. */
  pendientes: z.int(),
  ultima_entrega: limaTimestamp.nullable(),
  creado_en: limaTimestamp,
});
/** `secreto` is the key that signs every delivery: `whsec_` and 32 bytes in base64. No later answer shows it again. */
const createdWebhook = webhook.extend({ secreto: z.string().regex(/^whsec_[A-Za-z0-9+/]{43}=$/) });

export const createdWebhookAnswer = answerOf(createdWebhook, registerMeta);
export const webhookAnswer = answerOf(webhook, registerMeta);
export const webhooksAnswer = answerOf(z.array(webhook), registerMeta);

/** `pendientes` says which deliveries held during the pause are sent now: all, none, or those since an instant. */
export const resumption = z.strictObject({
  pendientes: z
    .union([z.enum(['todos', 'ninguno']), z.strictObject({ desde: instant })], {
      error: 'debe ser "todos", "ninguno" o {"desde": "2026-11-27T09:00:00-05:00"}',
    })
    .default('todos'),
});

/** For `gracia_horas` hours after the change, the previous secret signs every delivery too, beside the new secret. */
export const rotation = z.strictObject({ gracia_horas: z.int().min(0).max(168).default(24) });
export const rotatedSecretAnswer = answerOf(
  z.strictObject({
    secreto: z.string().regex(/^whsec_[A-Za-z0-9+/]{43}=$/),
    anterior_vence_en: limaTimestamp,
  }),
  registerMeta,
);

/** An owner notice: a webhook of the account will soon be paused, was paused, or was resumed. */
const notice = z.strictObject({
  id: z.int(),
  aviso: z.enum(['webhook.por_pausar', 'webhook.pausado', 'webhook.reanudado']),
  webhook: z.string(),
  ocurrido_en: limaTimestamp,
  detalle: z.strictObject({
    porcentaje: z.union([z.literal(50), z.literal(90)]).optional(),
    primer_fallo_en: limaTimestamp.optional(),
    /** Why the webhook was paused: as in `pausado_por`, or `plan` if the account's plan no longer includes watching. */
    causa: z.enum(['fallos', 'respuesta_410', 'cliente', 'plan']).optional(),
    fallos_consecutivos: z.int().optional(),
    liberadas: z.int().optional(),
  }),
});
export const noticesAnswer = answerOf(z.array(notice), pageMeta);

export const webhookOperations = {
  verAvisos: {
    summary: 'Avisos sobre los webhooks de la cuenta: por pausarse, pausado, reanudado',
    description: 'Lo más nuevo primero.',
    query: pageQuery(500, 100),
    answer: noticesAnswer,
  },
  crearWebhook: {
    summary: 'Registra la URL HTTPS que recibe los avisos',
    description:
      'La respuesta trae `secreto`, esta única vez: con él se verifica la firma de cada aviso. `eventos` y `listas` omitidos significan todos, también los que se creen después.',
    body: newWebhook,
    listLimits: { listas: maxWebhookLists },
    status: 201,
    answer: createdWebhookAnswer,
    problems: ['url_no_permitida', 'recurso_no_encontrado', 'limite_excedido'],
  },
  verWebhooks: {
    summary: 'Los webhooks de la cuenta',
    answer: webhooksAnswer,
  },
  verWebhook: {
    summary: 'Un webhook',
    answer: webhookAnswer,
  },
  cambiarWebhook: {
    summary: 'Cambia la URL, los filtros o los límites de un webhook',
    description:
      'Un campo omitido se queda como está; `null` en `eventos` o `listas` significa todos. Lo pendiente se envía a la URL del momento.',
    body: webhookPatch,
    listLimits: { listas: maxWebhookLists },
    answer: webhookAnswer,
    problems: ['url_no_permitida'],
  },
  probarWebhook: {
    summary: 'Envía un `ping` a la URL',
    description:
      'Una sola vez, sin reintentos, también si el webhook está pausado; no cuenta como fallo ni como éxito. El resultado está en la entrega.',
    body: noParameters,
    isBodyOptional: true,
    status: 202,
    answer: testAnswer,
    problems: ['url_no_permitida'],
  },
  cambiarSecreto: {
    summary: 'Da un secreto nuevo',
    description:
      'Durante la gracia firman el nuevo y los anteriores, el más nuevo primero, tres como máximo. El secreto se muestra esta única vez.',
    body: rotation,
    isBodyOptional: true,
    answer: rotatedSecretAnswer,
  },
  pausarWebhook: {
    summary: 'Deja de enviar avisos y los guarda',
    body: noParameters,
    isBodyOptional: true,
    answer: webhookAnswer,
  },
  reanudarWebhook: {
    summary: 'Avisa que el destino funciona y vuelve a enviar',
    description: '`pendientes` decide sobre lo guardado: `todos` (por omisión), `ninguno` o desde un instante.',
    body: resumption,
    isBodyOptional: true,
    answer: webhookAnswer,
  },
  borrarWebhook: {
    summary: 'Borra un webhook y cancela lo pendiente',
  },
} as const satisfies Operations;
