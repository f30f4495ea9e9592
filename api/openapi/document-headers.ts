import type { ZodOpenApiHeadersObject } from 'zod-openapi';
import type { Operation } from './operation.ts';

const text = { type: 'string' } as const;

/** Headers of answers, said once. */
export const sharedHeaders = {
  'X-Request-Id': { description: 'Id de la petición; se conserva el que usted envíe', schema: text, required: true },
  'Retry-After': { description: 'Segundos hasta que valga la pena repetir', schema: { type: 'integer' } },
  'RateLimit-Policy': { description: 'Ventanas fijas: `minuto` y, donde se consume cuota, `mes`', schema: text },
  RateLimit: { description: 'Lo que queda de cada ventana y los segundos hasta la siguiente', schema: text },
  ETag: { description: 'Envíela en If-None-Match; sin cambios se responde 304', schema: text },
  'Idempotency-Replayed': { description: '`true`: la respuesta guardada bajo esa clave', schema: text },
} as const satisfies ZodOpenApiHeadersObject;

type SharedHeader = keyof typeof sharedHeaders;

/** Which of them a success of the operation has. */
export function shownHeaders(operation: Operation): ZodOpenApiHeadersObject {
  const names: SharedHeader[] = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit'];
  if (operation.keeping !== 'never') names.push('ETag');
  if (operation.headers !== undefined) names.push('Idempotency-Replayed');
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
