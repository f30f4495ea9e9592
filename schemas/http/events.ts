import { z } from 'zod';
import { eventKinds } from '../registers.ts';
import { checkRuc } from '../ruc.ts';
import { answerOf, day, limaTimestamp, limitParameter, moment, rucText } from './envelope.ts';

/** `desde` and `hasta` are both included; a day means the whole day in Lima. */
export const eventsQuery = z.strictObject({
  desde: moment.optional(),
  hasta: moment.optional(),
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
  limite: limitParameter(500, 100),
  cursor: z.string().optional(),
});
export type EventsQuery = z.infer<typeof eventsQuery>;

/** A stream has no pages: it goes on from `Last-Event-ID`, or starts now. */
export const streamQuery = eventsQuery.pick({ ruc: true, evento: true, lista: true, desde: true, hasta: true });
/** The position of the last event that the client has. */
export const streamHeaders = z.strictObject({
  'Last-Event-ID': z
    .string()
    .regex(/^[0-9]{1,15}$/, 'debe ser el id de un evento del flujo')
    .optional(),
});

/** Texts as they are shown; of the flags of a list, booleans; null where the RUC was or is not in the register. */
const value = z.union([z.string(), z.boolean()]).nullable();

const watchlistSnapshot = z.strictObject({
  id: z.int(),
  nombre: z.string(),
  referencia: z.string().nullable(),
});

/** What is signed and sent, and what the history shows. */
export const eventPayload = z.strictObject({
  id: z.string(),
  posicion: z.int().min(1),
  evento: z.enum(eventKinds),
  ocurrido_en: limaTimestamp,
  datos: z.strictObject({ ruc: rucText, campo: z.string(), antes: value, despues: value, fecha_dato: day }),
  watchlist: watchlistSnapshot,
  /** Of a correction: the edition that was undone, and the event of it that this one takes back (null: it made none). */
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
  /** Always given: the next call continues here, also after an empty page. */
  cursor: z.string(),
  hay_mas: z.boolean(),
  fecha_dato: day.nullable(),
});
export const eventsAnswer = answerOf(z.array(watchedEvent), eventsMeta);
