import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiHeadersObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverride,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { day, rucText } from '../../schemas/http/envelope.ts';
import { type ProblemCode, problemDocument, problems } from '../../schemas/http/problem.ts';
import { taxpayerMeta, taxpayerRecord } from '../../schemas/http/taxpayer.ts';
import {
  type Access,
  type Charge,
  type Operation,
  type Operations,
  operations,
  type ParameterOf,
  statusOf,
  tags,
} from '../operations.ts';
import { withPortableSchemas } from './portable-schema.ts';
import { type Examples, introduction, tagTexts } from './texts.ts';

const text = { type: 'string' } as const;

/** Descriptions of answer headers. Operations refer to them by name. */
const sharedHeaders = {
  'X-Request-Id': { description: 'Id de la petición; se conserva el que usted envíe', schema: text, required: true },
  'Retry-After': { description: 'Segundos hasta que valga la pena repetir', schema: { type: 'integer' } },
  'RateLimit-Policy': { description: 'Ventanas fijas: `minuto` y, donde se consume cuota, `mes`', schema: text },
  RateLimit: { description: 'Lo que queda de cada ventana y los segundos hasta la siguiente', schema: text },
  ETag: { description: 'Envíela en If-None-Match; sin cambios se responde 304', schema: text },
  'Last-Modified': {
    description:
      'Desde cuándo la respuesta es esta. En If-Modified-Since, sin If-None-Match, también da 304. Falta mientras una edición nueva se está cargando',
    schema: text,
  },
  'Idempotency-Replayed': { description: '`true`: la respuesta guardada bajo esa clave', schema: text },
} as const satisfies ZodOpenApiHeadersObject;

function headersNamed(...names: (keyof typeof sharedHeaders)[]): ZodOpenApiHeadersObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

type Document = ReturnType<typeof createDocument>;

/**
 * Makes the OpenAPI 3.1 document of the whole API from the schemas that check requests and answers.
 * @param baseUrl the API's address without a slash at its end, or empty for the server that serves the document
 */
export function makeDocument(baseUrl: string, examples: Examples): Document {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const [name, operation] of Object.entries<Operation>(operations)) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: describe(name, operation, examples) };
  }
  const document = createDocument(
    {
      openapi: '3.1.0',
      // Generators make the names of packages and folders from the title, so it has no accent.
      info: { title: 'Padron', version: '1', description: introduction },
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
    { override: adaptSchema },
  );
  return withPortableSchemas(document);
}

/**
 * Adapts a schema for the document:
 * - A number in a query is checked by a pattern, because a query is text. The document shows a number.
 * - The document shows the default, which zod omits for a transformed value.
 * - Schemas of answers forbid undeclared fields, so that tests find them. The document allows them: v1 may gain some.
 */
const adaptSchema: ZodOpenApiOverride = ({ zodSchema, jsonSchema, io }) => {
  if (jsonSchema.type === 'integer') delete jsonSchema.pattern;
  const preset = z.globalRegistry.get(zodSchema)?.default;
  if (preset !== undefined) jsonSchema.default = preset;
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
};

function describe(name: string, operation: Operation, examples: Examples): ZodOpenApiOperationObject {
  const { query, headers: header, body, charge } = operation;
  const path = pathSchema(operation.path);
  const example = examples[name];
  const texts = [operation.description, planText(operation.access), charge && chargeTexts[charge]];
  return {
    operationId: name,
    tags: [operation.tag],
    summary: operation.summary,
    description: texts.filter(Boolean).join('\n\n'),
    ...(operation.access === 'calendar_feed' ? { security: [{ token: [] }, { tokenEnDireccion: [] }] } : {}),
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
    responses: { [String(statusOf(operation))]: success(operation, example?.answer), ...failures(operation) },
  };
}

/** Returns the document's sentence about the plans that may call an operation. */
function planText(access: Access): string {
  if (access === 'calendar' || access === 'calendar_feed')
    return 'En todos los planes y con el token de pruebas; no consume cuota.';
  if (access === 'free') return 'En todos los planes.';
  return `Desde el plan ${access === 'crecimiento_or_lists' ? 'crecimiento' : access}.`;
}

const chargeTexts: Readonly<Record<Charge, string>> = {
  record: 'Un registro encontrado cuenta una consulta; uno no encontrado, nada.',
  page: 'Una página con contenido cuenta una consulta; una página vacía, nada.',
  batch: 'Cada RUC distinto encontrado cuenta una consulta. Si el lote no cabe en la cuota, no se consulta nada.',
};

function isRevalidated({ caching = 'never' }: Operation): boolean {
  return caching !== 'never';
}

const textTitles: Readonly<Record<NonNullable<Operation['textType']>, string>> = {
  'text/calendar': 'Texto iCalendar',
  'text/event-stream': 'Flujo de eventos, que no termina',
};

function success(operation: Operation, answer: unknown) {
  const headers = {
    ...headersNamed('X-Request-Id', 'RateLimit-Policy', 'RateLimit'),
    ...(isRevalidated(operation) ? headersNamed('ETag', 'Last-Modified') : {}),
    ...(operation.headers === undefined ? {} : headersNamed('Idempotency-Replayed')),
  };
  const { status, answer: schema, textType } = operation;
  if (textType !== undefined)
    return { description: textTitles[textType], headers, content: { [textType]: { schema: text } } };
  if (schema === undefined) return { description: 'Hecho', headers };
  const example = answer === undefined ? {} : { example: answer };
  return {
    description: status === 201 ? 'Creado' : 'Correcto',
    headers,
    content: { 'application/json': { schema, ...example } },
  };
}

/**
 * Returns one response per error status, described by the status's error codes, and the operation's 304 if it has one.
 */
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
      headers: {
        ...headersNamed('X-Request-Id'),
        ...(status === 429 || status === 503 ? headersNamed('Retry-After') : {}),
      },
      content: { 'application/problem+json': { schema: problemDocument } },
    };
  }
  if (isRevalidated(operation)) responses['304'] = { description: 'Sin cambios desde la ETag o la fecha enviadas' };
  return responses;
}

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
  consulta_id: z.uuid().meta({ description: 'El `meta.consulta_id` de una consulta de proveedor' }),
};
type PathParameter = keyof typeof pathParameters;

function parametersOf(path: string): PathParameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as PathParameter);
}

function pathSchema(path: string): z.ZodObject | undefined {
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
function withTexts(query: z.ZodObject): z.ZodObject {
  const shape = Object.entries(query.shape as Record<string, z.ZodType>);
  const shown = shape.map(([name, schema]) => [name, schema.meta({ ...parameterTexts[name], ...schema.meta() })]);
  return query.safeExtend(Object.fromEntries(shown));
}

const alwaysProblems: readonly ProblemCode[] = [
  'parametro_invalido',
  'parametro_desconocido',
  'sin_token',
  'token_invalido',
  'token_revocado',
  'limite_por_minuto',
  'error_interno',
  'servicio_no_disponible',
];
const accessProblems: Readonly<Record<Access, readonly ProblemCode[]>> = {
  free: ['token_sandbox'],
  micro: ['token_sandbox', 'plan_insuficiente'],
  crecimiento: ['token_sandbox', 'plan_insuficiente'],
  crecimiento_or_lists: ['token_sandbox', 'plan_insuficiente'],
  calendar: ['anio_no_disponible'],
  calendar_feed: ['anio_no_disponible'],
};
const bodyProblems: readonly ProblemCode[] = ['json_invalido', 'cuerpo_demasiado_grande', 'tipo_no_admitido'];
/** Problems of operations that charge units. These operations read the registers, which may not be loaded yet. */
const chargeProblems: readonly ProblemCode[] = ['cuota_agotada', 'padron_no_disponible'];
/** Path parameters with the id of something that an account owns. A wrong id gives `recurso_no_encontrado`. */
const idParameters = new Set<PathParameter>(['lista', 'webhook', 'entrega', 'recuperacion', 'consulta_id']);

export function problemsOf(operation: Operation): readonly ProblemCode[] {
  const { access, body, charge, listLimits, path, problems: own = [] } = operation;
  const codes = new Set<ProblemCode>([
    ...alwaysProblems,
    ...accessProblems[access],
    ...(body === undefined ? [] : bodyProblems),
    ...(charge === undefined ? [] : chargeProblems),
    ...(listLimits === undefined ? [] : (['limite_excedido'] as const)),
    ...(parametersOf(path).some((name) => idParameters.has(name)) ? (['recurso_no_encontrado'] as const) : []),
    ...own,
  ]);
  return [...codes];
}
