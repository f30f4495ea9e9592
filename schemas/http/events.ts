import { z } from 'zod';
import { eventKinds } from '../registers.ts';
import { checkRuc } from '../ruc.ts';
import { answerOf, day, limaTimestamp, limitParameter, moment, rucText } from './envelope.ts';
import type { Operations } from './operation.ts';

/** What events can be filtered by, besides their time. */
export const eventFilters = {
  ruc: z
    .string()
    .refine((text) => checkRuc(text).ok, 'debe ser un RUC válido')
    .optional(),
  evento: z.enum(eventKinds).optional(),
  lista: z
    .string()
    .regex(/^[0-9]{1,15}$/, 'debe ser el número de una lista')
    .transform(Number)
    .optional(),
};

/** Selects events from `desde` to `hasta`, both included. A day means the whole day in Lima. */
const eventsQuery = z.strictObject({
  desde: moment.optional(),
  hasta: moment.optional(),
  ...eventFilters,
  limite: limitParameter(500, 100),
  cursor: z.string().optional(),
});
export type EventsQuery = z.infer<typeof eventsQuery>;

/** A stream has no pages, so it takes no limit and no cursor. It starts after `Last-Event-ID` or, without it, now. */
const streamQuery = eventsQuery.pick({ ruc: true, evento: true, lista: true, desde: true, hasta: true });
/** `Last-Event-ID` is the last id that the client received, with an event or without data. */
export const streamHeaders = z.strictObject({
  'Last-Event-ID': z
    .string()
    .regex(/^[0-9]{1,15}$/, 'debe ser el id de un evento del flujo')
    .optional(),
});

/**
 * The field's value as a display text. For a list such as agentes de retención, whether the RUC is in it. Null: the RUC
 * was not in the register, or had no value.
 */
const value = z.union([z.string(), z.boolean()]).nullable();

const watchlistSnapshot = z.strictObject({
  id: z.int(),
  nombre: z.string(),
  referencia: z.string().nullable(),
});

/** The body of a delivery. The event history and the event stream contain the same fields. */
export const eventPayload = z.strictObject({
  id: z.string(),
  posicion: z.int().min(1),
  evento: z.enum(eventKinds),
  ocurrido_en: limaTimestamp,
  datos: z.strictObject({ ruc: rucText, campo: z.string(), antes: value, despues: value, fecha_dato: day }),
  watchlist: watchlistSnapshot,
  /**
   * Null unless a correction made the event. `edicion` is the edition that was corrected. `evento` is the id of the
   * event that this event revokes, or null if the corrected edition made no such event.
   */
  correccion: z.strictObject({ edicion: z.int().min(1), evento: z.string().nullable() }).nullable(),
});
export type EventPayload = z.infer<typeof eventPayload>;

export const deliveryStates = [
  'pendiente',
  'en_curso',
  'entregada',
  'agotada',
  'retenida',
  'descartada',
  'cancelada',
] as const;
export type DeliveryState = (typeof deliveryStates)[number];

const watchedEvent = eventPayload.extend({
  entregas: z.array(z.strictObject({ webhook: z.string(), estado: z.enum(deliveryStates) })),
});
const eventsMeta = z.strictObject({
  /** The cursor for the next call. It is present after an empty page too. */
  cursor: z.string(),
  hay_mas: z.boolean(),
  fecha_dato: day.nullable(),
});
export const eventsAnswer = answerOf(z.array(watchedEvent), eventsMeta);

export const eventOperations = {
  verEventos: {
    summary: 'Historia de los cambios detectados',
    description:
      'Lo más antiguo primero. El cursor siempre viene, también en una página vacía, y no salta ni repite nada: es hasta donde se buscó con sus filtros (con `hasta`, el último evento mostrado), así que no envejece aunque el filtro no deje pasar nada. Un estado que pasa a BAJA es `ruc.estado_cambiado`; `ruc.baja` es que el RUC dejó de figurar en el padrón.',
    query: eventsQuery,
    answer: eventsAnswer,
    problems: ['cursor_vencido'],
  },
  seguirEventos: {
    summary: 'Los eventos a medida que se detectan (Server-Sent Events)',
    description:
      'Cada evento trae `data:` (el mismo cuerpo que recibe un webhook) e `id:` (su posición). Al conectar, y después de 15 segundos sin eventos, llega un bloque sin datos: un comentario y el `id:` hasta el que ya se buscó, aunque el filtro no haya dejado pasar nada. Así una conexión cortada antes del primer evento no pierde ninguno, y un filtro estrecho no envejece. `EventSource` guarda ese id sin avisar; otras bibliotecas lo entregan como un mensaje vacío, que se descarta. Con `Last-Event-ID` sigue donde quedó, sin saltos ni repeticiones; sin ella empieza ahora. Se cierra después de una hora: vuelva a conectar. Hasta 5 a la vez por cuenta.',
    query: streamQuery,
    headers: streamHeaders,
    textType: 'text/event-stream',
    problems: ['cursor_vencido', 'demasiados_flujos'],
  },
} as const satisfies Operations;
