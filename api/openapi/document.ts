import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiHeadersObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverride,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { editionChange } from '../../schemas/http/editions.ts';
import { type ProblemCode, problemDocument, problems } from '../../schemas/http/problem.ts';
import { taxpayerMeta, taxpayerRecord } from '../../schemas/http/taxpayer.ts';
import { type Access, type Charge, type Operation, operations, statusOf, tags } from '../operations.ts';
import { type PathParameter, parametersOf, pathSchema, withTexts } from './parameters.ts';
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
  'Accept-Ranges': { description: '`bytes`: se admite Range', schema: text },
  'Content-Range': { description: 'Qué bytes trae esta parte, y el tamaño del archivo', schema: text },
  'Content-Disposition': { description: 'El nombre del archivo: padrón, edición y fecha', schema: text },
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
        schemas: {
          CambioDeEdicion: editionChange,
          Contribuyente: taxpayerRecord,
          MetaDeContribuyente: taxpayerMeta,
          Problema: problemDocument,
        },
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
    responses: {
      [String(statusOf(operation))]: success(operation, example?.answer),
      ...(operation.fileTypes === undefined ? {} : { '206': fileAnswer(operation.fileTypes, 'Content-Range') }),
      ...failures(operation),
    },
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

function isRevalidated({ caching = 'never', fileTypes }: Operation): boolean {
  return caching !== 'never' || fileTypes !== undefined;
}

const textTitles: Readonly<Record<NonNullable<Operation['textType']>, string>> = {
  'text/calendar': 'Texto iCalendar',
  'text/event-stream': 'Flujo de eventos, que no termina',
};

/** The answer with a file, whole or a part of it. */
function fileAnswer(types: readonly string[], ...more: (keyof typeof sharedHeaders)[]) {
  const names = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit', 'ETag', 'Last-Modified'] as const;
  return {
    description: more.length === 0 ? 'El archivo' : 'Los bytes del archivo que pide Range',
    headers: headersNamed(...names, 'Accept-Ranges', 'Content-Disposition', ...more),
    content: Object.fromEntries(types.map((type) => [type, { schema: { type: 'string', format: 'binary' } as const }])),
  };
}

function success(operation: Operation, answer: unknown) {
  if (operation.fileTypes !== undefined) return fileAnswer(operation.fileTypes);
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
  empresa: ['token_sandbox', 'plan_insuficiente'],
  calendar: ['anio_no_disponible'],
  calendar_feed: ['anio_no_disponible'],
};
const bodyProblems: readonly ProblemCode[] = ['json_invalido', 'cuerpo_demasiado_grande', 'tipo_no_admitido'];
/** Problems of operations that charge units. These operations read the registers, which may not be loaded yet. */
const chargeProblems: readonly ProblemCode[] = ['cuota_agotada', 'padron_no_disponible'];
/** Path parameters with the id of something that an account owns. A wrong id gives `recurso_no_encontrado`. */
const idParameters = new Set<PathParameter>([
  ...(['lista', 'webhook', 'entrega', 'recuperacion', 'consulta_id', 'registro', 'numero'] as const),
]);

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
