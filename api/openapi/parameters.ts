import { z } from 'zod';
import { day, rucText } from '../../schemas/http/envelope.ts';
import { registerNames } from '../../schemas/registers.ts';
import type { Operations, ParameterOf } from '../operations.ts';

// What the document says of parameters.

const listId = z
  .string()
  .regex(/^[0-9]{1,15}$/)
  .meta({ description: 'Número de la lista', example: '1' });

/** Schemas of path parameters for the document. Handlers check these texts themselves, each with its own error code. */
const pathParameters: Readonly<Record<ParameterOf<Operations[keyof Operations]['path']>, z.ZodType>> = {
  ruc: rucText.meta({ description: 'RUC de 11 dígitos', example: '20990000019' }),
  anio: z
    .string()
    .regex(/^[0-9]{4}$/)
    .meta({ description: 'Año de cuatro dígitos', example: '2026' }),
  fecha: day.meta({ description: 'Día AAAA-MM-DD', example: '2026-07-28' }),
  lista: listId,
  webhook: z.string().meta({ description: 'Id del webhook', example: 'wh_00112233445566778899aabbccddeeff' }),
  entrega: z.string().meta({ description: 'Id de la entrega', example: 'en_AAECAwQFBgcICQoLDA0ODw' }),
  recuperacion: z
    .string()
    .meta({ description: 'Id de la recuperación', example: 're_00112233445566778899aabbccddeeff' }),
  registro: z.enum(registerNames).meta({ description: 'El padrón', example: 'padron_reducido' }),
  numero: z
    .string()
    .regex(/^[0-9]{1,15}$/)
    .meta({ description: 'Número de la edición', example: '2' }),
  consulta_id: z.uuid().meta({ description: 'El `meta.consulta_id` de una consulta de proveedor' }),
};
export type PathParameter = keyof typeof pathParameters;

export function parametersOf(path: string): PathParameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as PathParameter);
}

export function pathSchema(path: string): z.ZodObject | undefined {
  const names = parametersOf(path);
  if (names.length === 0) return undefined;
  return z.strictObject(Object.fromEntries(names.map((name) => [name, pathParameters[name]])));
}

const dayExample = '2026-11-26';

/** Texts of query parameters and headers whose schema has no text. A name means the same in every operation. */
const parameterTexts: Readonly<Record<string, Record<string, unknown>>> = {
  q: { description: 'De 3 a 100 letras o dígitos de la razón social', example: 'comercial prueba', minLength: 3 },
  limite: { description: 'Cuántos resultados trae una página' },
  cursor: { description: 'El `meta.cursor` de la página anterior' },
  estado: { description: 'Estado del contribuyente, como lo muestra la consulta', example: 'ACTIVO' },
  condicion: { description: 'Condición del domicilio, como la muestra la consulta', example: 'HABIDO' },
  ubigeo: { description: 'Departamento, provincia o distrito: 2, 4 o 6 dígitos', example: '150122' },
  fecha: { description: 'Como era ese día, hora de Lima', format: 'date', example: dayExample },
  inhabilitado_al: { description: 'Día en que se juzgan las inhabilitaciones', format: 'date', example: dayExample },
  sector: { description: 'Quién cuenta los días' },
  desde: { description: 'Desde cuándo; un día AAAA-MM-DD se toma entero', example: dayExample },
  hasta: {
    description: 'Hasta cuándo, inclusive; un día AAAA-MM-DD se toma entero, y una hora sin fracción, su segundo',
  },
  dias: { description: 'Días hábiles, de 1 a 1,000', type: 'integer', minimum: 1, maximum: 1_000, example: 10 },
  digito: { description: 'Último dígito del RUC', pattern: '^[0-9]$', example: '0' },
  buen_contribuyente: { description: 'Si está en el régimen de buenos contribuyentes' },
  ruc: { description: 'Solo los eventos de este RUC', pattern: '^[0-9]{11}$' },
  evento: { description: 'Solo los eventos de esta clase' },
  lista: { description: 'Solo los eventos de esta lista' },
  'Last-Event-ID': { description: 'El último `id:` que llegó, con datos o sin ellos; sin ella el flujo empieza ahora' },
  token: { description: 'Solo el token de pruebas; uno propio va en la cabecera Authorization y aquí se rechaza' },
};

/** Adds `parameterTexts` to the parameters of a query. A text in the parameter's own schema is kept. */
export function withTexts(query: z.ZodObject): z.ZodObject {
  const shape = Object.entries(query.shape as Record<string, z.ZodType>);
  const shown = shape.map(([name, schema]) => [name, schema.meta({ ...parameterTexts[name], ...schema.meta() })]);
  return query.safeExtend(Object.fromEntries(shown));
}
