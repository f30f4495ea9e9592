import { randomUUID } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { type ParsedUrlQuery, parse as parseQuery } from 'node:querystring';
import { bodyParser } from '@koa/bodyparser';
import type Router from '@koa/router';
import type { RouterContext } from '@koa/router';
import type { z } from 'zod';
import type { OperationSchemas } from '../schemas/http/operation.ts';
import type { Caller } from './accounts/callers.ts';
import { spanishIssue } from './input.ts';
import type { MinuteSubject } from './metering/minute-limits.ts';
import { ApiProblem, fieldProblem, maskText } from './problems.ts';

export interface RequestState {
  requestId: string;
  /** Set by access.ts; handlers read it through callerOf. */
  caller?: Caller;
  /** Counts this request against the subject's minute limit. */
  countRequest(subject: MinuteSubject): Promise<void>;
}
export type ApiContext = RouterContext<RequestState>;
export type ApiRouter = Router<RequestState>;
export type ApiMiddleware = (context: ApiContext, next: () => Promise<unknown>) => Promise<unknown>;

export function callerOf(context: ApiContext): Caller {
  const { caller } = context.state;
  if (caller === undefined) throw new Error('a handler reads the caller of an operation that needs no token');
  return caller;
}

/** Returns the caller's own request id when it is 1 to 128 printable ASCII characters, otherwise a new id. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === 'string' && /^[\x20-\x7e]{1,128}$/.test(header) ? header : randomUUID();
}

const inSpanish = { error: spanishIssue };

/**
 * Parses what the caller sent. Unknown names are refused: if a mistyped filter were ignored, the answer would be about
 * something else.
 * @throws ApiProblem parametro_desconocido, parametro_invalido
 */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input, inSpanish);
  if (result.success) return result.data;
  const errors = result.error.issues.flatMap((issue) => problemsOf(issue));
  const unknown = errors.filter((error) => error.unknown);
  if (unknown.length > 0) throw unknownNames(unknown.map(({ campo }) => campo));
  const shown = errors.slice(0, maxErrors).map(({ campo, mensaje }) => ({ campo, mensaje }));
  throw new ApiProblem('parametro_invalido', `${shown[0]!.campo}: ${shown[0]!.mensaje}.`, { errors: shown });
}

/**
 * Returns the query's parameters. Node decodes a `%` that is not followed by two hexadecimal digits to itself, as in
 * `%u00F1`, which JavaScript's escape() writes for ñ. Such a `%` becomes U+FFFD here, like bytes that are not UTF-8, so
 * that a schema can refuse it.
 */
export function queryOf({ querystring }: Pick<ApiContext, 'querystring'>): ParsedUrlQuery {
  return parseQuery(querystring.replace(/%(?![0-9A-Fa-f]{2})/g, '%EF%BF%BD'));
}

/** Refuses every query parameter, for operations that have none. @throws ApiProblem parametro_desconocido */
export function refuseQuery(context: ApiContext): undefined {
  if (context.querystring === '') return;
  const names = Object.keys(context.query);
  if (names.length > 0) throw unknownNames(names.map(maskText));
}

/**
 * Largest number of errors in one answer. A body of 64 kB could cause tens of thousands, but the first ones are enough.
 */
const maxErrors = 20;

function unknownNames(names: readonly string[]): ApiProblem {
  const shown = names.slice(0, maxErrors);
  const others = names.length > shown.length ? ` y ${names.length - shown.length} más` : '';
  return new ApiProblem('parametro_desconocido', `Esta operación no conoce: ${shown.join(', ')}${others}.`, {
    errors: shown.map((campo) => ({ campo, mensaje: unknownText })),
  });
}

const unknownText = 'no se conoce';

interface FieldError {
  campo: string;
  mensaje: string;
  unknown: boolean;
}

function problemsOf(issue: z.core.$ZodIssue, base: readonly PropertyKey[] = []): FieldError[] {
  const path = [...base, ...issue.path];
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ ...field([...path, key]), mensaje: unknownText, unknown: true }));
  // When several shapes are allowed, show the errors of the shape with the fewest errors.
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const closest = [...issue.errors].sort((a, b) => a.length - b.length)[0]!;
    const inner = closest.flatMap((each) => problemsOf(each, path));
    if (inner.length > 0 && path.length === 0) return inner;
  }
  return [{ ...field(path), mensaje: maskText(issue.message), unknown: false }];
}

function field(path: readonly PropertyKey[]): { campo: string } {
  return { campo: path.length === 0 ? 'cuerpo' : maskText(path.map(String).join('.')) };
}

/** Largest size of a body. 1,000 RUCs need less. A larger body is refused before it is read whole. */
const maxBodyBytes = 64 * 1024;

const jsonTypes = ['application/json', 'application/*+json'];

const parse = bodyParser({
  enableTypes: ['json'],
  // These are the types that readBody admits. The library's own list lacks most `+json` types, so it would leave
  // their bodies unread.
  extendTypes: { json: jsonTypes },
  jsonLimit: maxBodyBytes,
  jsonStrict: true,
  onError: (error, { req }) => {
    // Read the rest of a refused body, because unread bytes would come before the connection's next request.
    req.resume();
    throw bodyProblem(error);
  },
});

/** Reads a JSON body, which `parseBody` then checks. */
export const readBody: ApiMiddleware = async (context, next) => {
  const hasBody = context.req.headers['transfer-encoding'] !== undefined || Number(context.get('Content-Length')) > 0;
  if (hasBody && !context.is(jsonTypes))
    throw new ApiProblem('tipo_no_admitido', 'El cuerpo debe enviarse como Content-Type: application/json.');
  // The parser reads every charset as UTF-8, so names in another charset would be stored corrupted.
  if (!utf8Names.has(context.request.charset.toLowerCase()))
    throw new ApiProblem('tipo_no_admitido', 'El cuerpo debe enviarse en UTF-8.');
  // Compressed bodies are refused: a body of 64 kB needs no compression. After refusing a body, the parser would go on
  // decompressing the body, and corrupt data would then end the process.
  if (!['', 'identity'].includes(context.get('Content-Encoding')))
    throw new ApiProblem('tipo_no_admitido', 'El cuerpo debe enviarse sin comprimir, sin Content-Encoding.');
  return parse(context, () => {
    // U+FFFD replaces bytes that are not UTF-8. Such bytes come from a program that did not declare its charset.
    if (context.request.rawBody?.includes('\uFFFD'))
      throw new ApiProblem(
        'json_invalido',
        'El cuerpo no está en UTF-8: una letra con tilde o una ñ llegó con otra codificación.',
      );
    return next();
  });
};

/** The names of UTF-8 and of ASCII, which is valid UTF-8. The name is empty when no charset was declared. */
const utf8Names = new Set(['', 'utf-8', 'utf8', 'us-ascii']);

/**
 * An omitted body counts as `{}` if it is optional.
 * @throws ApiProblem json_invalido, limite_excedido, parametro_desconocido, parametro_invalido
 */
export function parseBody<Schema extends z.ZodType>(
  context: ApiContext,
  schema: Schema,
  { isBodyOptional, listLimits = {} }: Pick<OperationSchemas, 'isBodyOptional' | 'listLimits'>,
): z.output<Schema> {
  const { rawBody, body } = context.request;
  if (!rawBody && isBodyOptional !== true)
    throw new ApiProblem('json_invalido', 'Falta el cuerpo JSON de la petición.');
  if (rawBody) refuseLongLists(body, listLimits);
  return parseInput(schema, rawBody ? body : {});
}

function refuseLongLists(body: unknown, limits: Readonly<Record<string, number>>): void {
  for (const [field, most] of Object.entries(limits)) {
    const list = (body as Record<string, unknown> | undefined)?.[field];
    if (!Array.isArray(list) || list.length <= most) continue;
    const [limit, sent] = [most, list.length].map((count) => count.toLocaleString('en-US'));
    const mensaje = `admite hasta ${limit} elementos por petición`;
    throw fieldProblem('limite_excedido', field, mensaje, `${field} ${mensaje}; se recibieron ${sent}.`);
  }
}

function bodyProblem(error: Error): ApiProblem {
  const status = 'status' in error ? error.status : undefined;
  if (status === 413) return new ApiProblem('cuerpo_demasiado_grande', 'El cuerpo admite hasta 64 kB.');
  // The parser's own message quotes the body, which may contain personal data.
  return new ApiProblem('json_invalido', 'El cuerpo no es un objeto JSON válido.');
}

/** Whether a host name or address means this machine alone. */
export function isLoopback(host: string): boolean {
  const plain = host.replace(/^\[|\]$/g, '').replace(/^::ffff:/, '');
  return plain === 'localhost' || plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'));
}
