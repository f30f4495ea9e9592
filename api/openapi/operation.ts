import { z } from 'zod';
import { idempotencyKeyText } from '../../schemas/http/batch.ts';
import { day, rucText } from '../../schemas/http/envelope.ts';
import type { ProblemCode } from '../../schemas/http/problem.ts';

export const tags = ['Contribuyentes', 'Calendario', 'Vigilancia', 'Cuenta'] as const;

/** What opens a route: the lowest plan; or, of the calendar, any token and the public one, of a feed in its address too. */
export type Access = 'free' | 'micro' | 'crecimiento' | 'calendario' | 'calendario_ics';

/** How long an answer may be kept: with an ETag and asked for again each time, a minute, or not at all. */
export type Keeping = 'revalidated' | 'minute' | 'never';

/** One route of the public API as its callers see it: the document, the client and the suites are made from these. */
export interface Operation {
  method: 'get' | 'post' | 'patch' | 'delete';
  /** With parameters in braces. */
  path: `/id/v1/${string}`;
  tag: (typeof tags)[number];
  /** Spanish, one line. */
  summary: string;
  /** Spanish: what the schemas do not say. */
  description?: string;
  access: Access;
  /** Counts against the month; the text says what is charged. */
  charge?: string;
  parameters?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: z.ZodType;
  isBodyOptional?: true;
  /** Of the success; `schema` null: no body, or text. */
  status: 200 | 201 | 202 | 204;
  schema: z.ZodType | null;
  /** Of a success that is no JSON. */
  type?: string;
  keeping: Keeping;
  /** A GET without HEAD. */
  isGetOnly?: true;
  /** Besides what follows from the fields above: see problems-of.ts. */
  problems?: readonly ProblemCode[];
}

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
