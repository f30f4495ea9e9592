import { z } from 'zod';
import { answerOf, instant, limaTimestamp, limitParameter, moment, pageMeta, registerMeta } from './envelope.ts';
import { deliveryStates } from './events.ts';

/** `desde` and `hasta` are both included and are about when the delivery was made; a day means the whole day in Lima. */
export const deliveriesQuery = z.strictObject({
  estado: z.enum(deliveryStates).optional().meta({ description: 'Estado de la entrega' }),
  desde: moment.optional(),
  hasta: moment.optional(),
  limite: limitParameter(500, 100),
  cursor: z.string().optional(),
});

const delivery = z.strictObject({
  /** `X-Service-Delivery` of every attempt. */
  id: z.string(),
  /** One of the seven kinds, or `ping`. */
  evento: z.string(),
  evento_id: z.string(),
  estado: z.enum(deliveryStates),
  /** How many were made. */
  intentos: z.int().min(0),
  creada_en: limaTimestamp,
  proximo_intento_en: limaTimestamp.nullable(),
});
export const deliveriesAnswer = answerOf(z.array(delivery), pageMeta);

const attempt = z.strictObject({
  numero: z.int().min(1),
  inicio: limaTimestamp,
  duracion_ms: z.int().min(0).nullable(),
  estado_http: z.int().nullable(),
  /** A class; null after a success and while it is under way. */
  fallo: z.string().nullable(),
  /** The first 16 kB of the body that the endpoint answered with. */
  respuesta: z.string().nullable(),
  respuesta_cortada: z
    .boolean()
    .meta({ description: '`respuesta` no es todo lo que contestó: era más larga, o se interrumpió' }),
});
const deliveryWithAttempts = delivery.extend({ historial_intentos: z.array(attempt) });
export const deliveryAnswer = answerOf(deliveryWithAttempts, registerMeta);

export const resentAnswer = answerOf(z.strictObject({ id: z.string(), estado: z.enum(deliveryStates) }), registerMeta);
export const testAnswer = answerOf(z.strictObject({ entrega: z.string() }), registerMeta);

const recoverable = z.enum(['agotada', 'descartada', 'entregada', 'pendiente']);

/** Deliveries made from `desde` to `hasta` (now when left out), both included. */
export const newRecovery = z
  .strictObject({
    desde: instant,
    hasta: instant.optional(),
    estados: z
      .array(recoverable)
      .min(1, 'una lista vacía no recuperaría nada; omita el campo para agotadas y descartadas')
      .default(['agotada', 'descartada']),
    /** Only counts. */
    simular: z.boolean().default(false),
  })
  .refine(({ desde, hasta }) => hasta === undefined || new Date(desde) <= new Date(hasta), {
    path: ['hasta'],
    message: 'no puede ser anterior a desde',
  });
export const createdRecoveryAnswer = answerOf(z.strictObject({ id: z.string(), total: z.int().min(0) }), registerMeta);

const recovery = z.strictObject({
  id: z.string(),
  estado: z.enum(['simulada', 'en_curso', 'terminada', 'cancelada']),
  desde: limaTimestamp,
  hasta: limaTimestamp,
  estados: z.array(recoverable),
  /** Deliveries that were found when it was asked for. */
  total: z.int().min(0),
  reenviadas: z.int().min(0).meta({
    description:
      'Las que ya se pusieron en cola; pueden ser más que `total` si otras pasaron a un estado pedido después de contarlas',
  }),
  omitidas: z.int().min(0).nullable().meta({
    description:
      'De estas, las que no se envían: al llegar su turno ya estaban en otro estado, o una corrección retiró lo que dicen; null hasta el final',
  }),
  creada_en: limaTimestamp,
  terminada_en: limaTimestamp.nullable(),
});
export const recoveryAnswer = answerOf(recovery, registerMeta);
