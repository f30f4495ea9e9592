import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiHeadersObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverride,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { type ProblemCode, problemDocument, problems } from '../../schemas/http/problem.ts';
import { taxpayerMeta, taxpayerRecord } from '../../schemas/http/taxpayer.ts';
import { type Access, type Operation, tags } from './operation.ts';
import { operations } from './routes.ts';
import { type Examples, introduction, tagTexts } from './texts.ts';

const text = { type: 'string' } as const;

/** Headers of answers, said once. */
const sharedHeaders = {
  'X-Request-Id': { description: 'Id de la petición; se conserva el que usted envíe', schema: text, required: true },
  'Retry-After': { description: 'Segundos hasta que valga la pena repetir', schema: { type: 'integer' } },
  'RateLimit-Policy': { description: 'Ventanas fijas: `minuto` y, donde se consume cuota, `mes`', schema: text },
  RateLimit: { description: 'Lo que queda de cada ventana y los segundos hasta la siguiente', schema: text },
  ETag: { description: 'Envíela en If-None-Match; sin cambios se responde 304', schema: text },
  'Idempotency-Replayed': { description: '`true`: la respuesta guardada bajo esa clave', schema: text },
} as const satisfies ZodOpenApiHeadersObject;

type SharedHeader = keyof typeof sharedHeaders;

/** Which of them a success of the operation has. */
function shownHeaders(operation: Operation): ZodOpenApiHeadersObject {
  const names: SharedHeader[] = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit'];
  if (operation.keeping !== 'never') names.push('ETag');
  if (operation.headers !== undefined) names.push('Idempotency-Replayed');
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

type Document = ReturnType<typeof createDocument>;

/**
 * The OpenAPI 3.1 document of the whole API, made from the schemas that requests and answers are checked with.
 * @param baseUrl without a slash at its end; empty: the document's own server
 */
export function makeDocument(baseUrl: string, examples: Examples): Document {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const [name, operation] of Object.entries<Operation>(operations)) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: shownOperation(name, operation, examples) };
  }
  return createDocument(
    {
      openapi: '3.1.0',
      info: { title: 'Padrón', version: '1', description: introduction },
      servers: [{ url: baseUrl === '' ? '/' : baseUrl }],
      tags: tags.map((name) => ({ name, description: tagTexts[name] })),
      security: [{ token: [] }],
      paths,
      components: {
        schemas: { Contribuyente: taxpayerRecord, MetaDeContribuyente: taxpayerMeta, Problema: problemDocument },
        headers: sharedHeaders,
        securitySchemes: {
          token: {
            type: 'http',
            scheme: 'bearer',
            description: 'El token de la cuenta, o el de pruebas en el calendario',
          },
          tokenEnDireccion: {
            type: 'apiKey',
            in: 'query',
            name: 'token',
            description: 'Solo el token de pruebas, en las direcciones .ics',
          },
        },
      },
    },
    { override: withoutInnerRules },
  );
}

/**
 * Numbers in a query are text that must look like a number: the document says the number, and what it is when it is left out,
 * which zod leaves away where a text becomes another value. Our own schemas of answers are
 * closed, so that no field leaves unnoticed; a caller's must stay open, since v1 may gain fields.
 */
const withoutInnerRules: ZodOpenApiOverride = ({ zodSchema, jsonSchema, io }) => {
  if (jsonSchema.type === 'integer') delete jsonSchema.pattern;
  const preset = z.globalRegistry.get(zodSchema)?.default;
  if (preset !== undefined) jsonSchema.default = preset;
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
};

function shownOperation(name: string, operation: Operation, examples: Examples): ZodOpenApiOperationObject {
  const { parameters: path, query, headers: header, body } = operation;
  const example = examples[name];
  const description = [operation.description, planText(operation), operation.charge].filter(Boolean).join('\n\n');
  return {
    operationId: name,
    tags: [operation.tag],
    summary: operation.summary,
    description,
    ...(operation.access === 'calendario_ics' ? { security: [{ token: [] }, { tokenEnDireccion: [] }] } : {}),
    requestParams: {
      ...(path && { path }),
      ...(query && { query: withTexts(query) }),
      ...(header && { header: withTexts(header) }),
    },
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: operation.isBodyOptional !== true,
            content: {
              'application/json': { schema: body, ...(example?.body === undefined ? {} : { example: example.body }) },
            },
          },
        }),
    responses: { [String(operation.status)]: success(operation, example?.answer), ...failures(operation) },
  };
}

function planText({ access }: Operation): string {
  if (access === 'calendario' || access === 'calendario_ics')
    return 'En todos los planes y con el token de pruebas; no consume cuota.';
  return access === 'free' ? 'En todos los planes.' : `Desde el plan ${access}.`;
}

function success(operation: Operation, answer: unknown) {
  const { status, schema, type } = operation;
  const headers = shownHeaders(operation);
  if (type !== undefined)
    return { description: 'Texto iCalendar', headers, content: { [type]: { schema: { type: 'string' as const } } } };
  if (schema === null) return { description: 'Hecho', headers };
  const example = answer === undefined ? {} : { example: answer };
  return {
    description: status === 201 ? 'Creado' : 'Correcto',
    headers,
    content: { 'application/json': { schema, ...example } },
  };
}

/** One response per status, which names its codes. */
function failures(operation: Operation): ZodOpenApiResponsesObject {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of problemsOf(operation)) {
    const { status } = problems[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const responses: ZodOpenApiResponsesObject = {};
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    responses[`${status as 400}`] = {
      description: codes.map((code) => `[\`${code}\`](/errores/${code}): ${problems[code].title}`).join('\n\n'),
      headers: { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' }, ...retryHeader(status) },
      content: { 'application/problem+json': { schema: problemDocument } },
    };
  }
  // A client that sends If-None-Match is told when nothing has changed.
  if (operation.keeping !== 'never') responses['304'] = { description: 'Sin cambios desde la ETag enviada' };
  return responses;
}

function retryHeader(status: number): ZodOpenApiHeadersObject {
  return status === 429 || status === 503 ? { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } : {};
}

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
function withTexts(query: z.ZodObject): z.ZodObject {
  const shape = Object.entries(query.shape as Record<string, z.ZodType>);
  const shown = shape.map(([name, schema]) => [name, schema.meta({ ...parameterTexts[name], ...schema.meta() })]);
  return query.safeExtend(Object.fromEntries(shown));
}

const always: readonly ProblemCode[] = [
  'parametro_invalido',
  'parametro_desconocido',
  'sin_token',
  'token_invalido',
  'token_revocado',
  'limite_por_minuto',
  'error_interno',
  'servicio_no_disponible',
];

const byAccess: Readonly<Record<Access, readonly ProblemCode[]>> = {
  free: ['token_sandbox'],
  micro: ['token_sandbox', 'plan_insuficiente'],
  crecimiento: ['token_sandbox', 'plan_insuficiente'],
  calendario: [],
  calendario_ics: [],
};

const ofBodies: readonly ProblemCode[] = ['json_invalido', 'cuerpo_demasiado_grande', 'tipo_no_admitido'];
const ofMetered: readonly ProblemCode[] = ['cuota_agotada'];

/** What is answered before it is known which operation is asked for, if any. */
export const ofNoOperation: readonly ProblemCode[] = [
  'peticion_mal_formada',
  'peticion_incompleta',
  'cabeceras_demasiado_grandes',
  'ruta_no_encontrada',
  'metodo_no_permitido',
];

/** Every code that an operation can answer with. */
export function problemsOf(operation: Operation): readonly ProblemCode[] {
  const codes = new Set<ProblemCode>([
    ...always,
    ...byAccess[operation.access],
    ...(operation.body === undefined ? [] : ofBodies),
    ...(operation.charge === undefined ? [] : ofMetered),
    ...(operation.problems ?? []),
  ]);
  return [...codes];
}
