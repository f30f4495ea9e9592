import type { z } from 'zod';

const cursor = 'El `meta.cursor` de la página anterior';
const dayExample = '2026-11-26';

/** What a parameter means wherever its schema does not say it itself: a name means the same in every route. Days are judged by the routes. */
const parameterTexts: Readonly<Record<string, Record<string, unknown>>> = {
  q: { description: 'De 3 a 100 letras o dígitos de la razón social', example: 'comercial prueba', minLength: 3 },
  limite: { description: 'Cuántos resultados trae una página' },
  cursor: { description: cursor },
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
  'Last-Event-ID': { description: 'Posición del último evento que se tiene; sin ella el flujo empieza ahora' },
  token: { description: 'Solo el token de pruebas; uno propio va en la cabecera Authorization y aquí se rechaza' },
};

/** The same parameters with what they mean. */
export function withTexts(query: z.ZodObject): z.ZodObject {
  const shape = Object.entries(query.shape as Record<string, z.ZodType>);
  const shown = shape.map(([name, schema]) => [name, schema.meta({ ...parameterTexts[name], ...schema.meta() })]);
  return query.safeExtend(Object.fromEntries(shown));
}
