import { z } from 'zod';
import { idempotencyKeyText } from '../../schemas/http/batch.ts';
import { day, rucText } from '../../schemas/http/envelope.ts';

/** What stands in paths, as the document shows it. Routes judge these texts themselves: each has an error code of its own. */

export const rucParameter = z.strictObject({
  ruc: rucText.meta({ description: 'RUC de 11 dígitos', example: '20990000019' }),
});
export const yearParameter = z.strictObject({
  anio: z
    .string()
    .regex(/^[0-9]{4}$/)
    .meta({ description: 'Año de cuatro dígitos', example: '2026' }),
});
export const dayParameter = z.strictObject({
  fecha: day.meta({ description: 'Día AAAA-MM-DD', example: '2026-07-28' }),
});

const listId = z
  .string()
  .regex(/^[0-9]{1,15}$/)
  .meta({ description: 'Número de la lista', example: '1' });
export const listParameter = z.strictObject({ lista: listId });
export const memberParameters = z.strictObject({ lista: listId, ...rucParameter.shape });
export const webhookParameter = z.strictObject({
  webhook: z.string().meta({ description: 'Id del webhook', example: 'wh_00112233445566778899aabbccddeeff' }),
});
export const deliveryParameter = z.strictObject({
  entrega: z.string().meta({ description: 'Id de la entrega', example: 'en_AAECAwQFBgcICQoLDA0ODw' }),
});
export const recoveryParameters = z.strictObject({
  ...webhookParameter.shape,
  recuperacion: z
    .string()
    .meta({ description: 'Id de la recuperación', example: 're_00112233445566778899aabbccddeeff' }),
});
export const checkParameter = z.strictObject({
  consulta_id: z.uuid().meta({ description: 'El `meta.consulta_id` de una consulta de proveedor' }),
});
export const idempotencyHeader = z.strictObject({
  'Idempotency-Key': idempotencyKeyText.optional().meta({
    description: 'Con la misma clave y el mismo cuerpo se obtiene la misma respuesta durante 24 horas, sin costo',
  }),
});
