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
import { sharedHeaders, shownHeaders } from './document-headers.ts';
import { introduction, tagTexts } from './document-texts.ts';
import type { Examples } from './examples.ts';
import { type Operation, tags } from './operation.ts';
import { withTexts } from './parameter-texts.ts';
import { problemsOf } from './problems-of.ts';
import { operations } from './routes.ts';

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
