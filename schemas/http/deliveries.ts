import { z } from 'zod';
import {
  answerOf,
  instant,
  limaTimestamp,
  limitParameter,
  moment,
  noParameters,
  pageMeta,
  registerMeta,
} from './envelope.ts';
import { deliveryStates } from './events.ts';
import type { Operations } from './operation.ts';

/** Selects deliveries created from `desde` to `hasta`, both included. A day means the whole day in Lima. */
const deliveriesQuery = z.strictObject({
  estado: z.enum(deliveryStates).optional().meta({ description: 'Estado de la entrega' }),
  desde: moment.optional(),
  hasta: moment.optional(),
  limite: limitParameter(500, 100),
  cursor: z.string().optional(),
});

const delivery = z.strictObject({
  /** Every attempt sends this id as `X-Service-Delivery`. */
  id: z.string(),
  /** One of the seven kinds of event, or `ping`. */
  evento: z.string(),
  evento_id: z.string(),
  estado: z.enum(deliveryStates),
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
  /** The kind of failure. Null after a success and while the attempt runs. */
  fallo: z.string().nullable(),
  /** The first 16 kB of the receiver's response body. */
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

/** A recovery sends again the deliveries that were created from `desde` to `hasta` (default: now), both included. */
const newRecovery = z
  .strictObject({
    desde: instant,
    hasta: instant.optional(),
    estados: z
      .array(recoverable)
      .min(1, 'una lista vacía no recuperaría nada; omita el campo para agotadas y descartadas')
      .default(['agotada', 'descartada']),
    /** If true, the recovery only counts the deliveries and sends none. */
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
  /** Number of deliveries found when the recovery was created. */
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

export const deliveryOperations = {
  verEntregas: {
    summary: 'Lo que se envió o se enviará a un webhook',
    description: 'Lo más nuevo primero.',
    query: deliveriesQuery,
    answer: deliveriesAnswer,
  },
  verEntrega: {
    summary: 'Una entrega con sus intentos',
    description:
      '`fallo` es una clase; `resultado_desconocido`: el servicio se detuvo antes de anotar la respuesta, y el aviso se envió otra vez con el mismo id. `respuesta` es lo que contestó el receptor, hasta 16 kB; `respuesta_cortada` dice si era más. Los intentos se conservan 90 días.',
    answer: deliveryAnswer,
  },
  reenviarEntrega: {
    summary: 'Envía otra vez una entrega, con el mismo X-Service-Delivery',
    description:
      'Reemplaza al reintento pendiente. Con el webhook pausado queda `retenida`. Lo que una corrección retiró no se reenvía, se haya intentado o no: sería decir otra vez algo que no era cierto; el error (`parametro_invalido`) dice qué edición lo corrigió, y el aviso de la corrección ya fue a los webhooks a los que se intentó enviar el original. Tampoco se reenvía lo que se canceló al borrar su webhook.',
    body: noParameters,
    isBodyOptional: true,
    status: 202,
    answer: resentAnswer,
  },
  crearRecuperacion: {
    summary: 'Envía otra vez lo que un webhook no recibió desde un instante',
    description:
      'Primero cuenta (`total`) y luego envía por partes, dentro de los límites del webhook, con los mismos X-Service-Delivery. `simular` solo cuenta. `estados` omitido: `agotada` y `descartada`. Lo que una corrección retiró no se envía y al final cuenta en `omitidas`.',
    body: newRecovery,
    status: 202,
    answer: createdRecoveryAnswer,
    problems: ['limite_excedido'],
  },
  verRecuperacion: {
    summary: 'Cuánto lleva una recuperación',
    answer: recoveryAnswer,
  },
  cancelarRecuperacion: {
    summary: 'Detiene una recuperación',
    description: 'Lo que ya se puso a enviar se envía.',
  },
} as const satisfies Operations;
