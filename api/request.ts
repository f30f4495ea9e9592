import { randomUUID } from 'node:crypto';
import { bodyParser } from '@koa/bodyparser';
import type Router from '@koa/router';
import type { RouterContext } from '@koa/router';
import type { z } from 'zod';
import { checkRuc, isCompany, maskRuc, type RucProblem, rucLength } from '../schemas/ruc.ts';
import { type Caller, type Identify, type PlanName, planRanks, requirePlan } from './accounts/callers.ts';
import { spanishIssue } from './input.ts';
import { accountSubject, type MinuteSubject } from './metering/minute-limits.ts';
import type { Reservation } from './metering/types.ts';
import { ApiProblem, maskText } from './problems.ts';

export interface RequestState {
  requestId: string;
  /** Set by `access`; routes read it through callerOf. */
  caller?: Caller;
  /** Counts this request against the subject's minute: `access` does it, or what stands in its place on a route. */
  countRequest(subject: MinuteSubject): Promise<void>;
  /** Units that the metered route set aside. */
  reservation?: Reservation;
}
export type ApiContext = RouterContext<RequestState>;
export type ApiRouter = Router<RequestState>;
export type ApiMiddleware = (context: ApiContext, next: () => Promise<unknown>) => Promise<unknown>;

/**
 * Token, minute limit, plan: what every route asks before it looks at its input.
 * @param isExcepted whether a caller whose plan is too low may go on all the same
 */
export function access(
  identify: Identify,
  plan: PlanName,
  isExcepted?: (caller: Caller) => Promise<boolean>,
): ApiMiddleware {
  return async (context, next) => {
    const caller = await identify(context.req.headers.authorization);
    context.state.caller = caller;
    await context.state.countRequest(accountSubject(caller));
    if (caller.planRank >= planRanks[plan]) return next();
    if (!(await isExcepted?.(caller))) requirePlan(caller, plan);
    return next();
  };
}

export function callerOf(context: ApiContext): Caller {
  const { caller } = context.state;
  if (caller === undefined) throw new Error('a route reads its caller without asking for a token');
  return caller;
}

/** A caller's own request id is kept when it is 1 to 128 printable characters. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === 'string' && /^[\x20-\x7e]{1,128}$/.test(header) ? header : randomUUID();
}

const inSpanish = { error: spanishIssue };

/**
 * Parses what the caller sent. Unknown names are refused and never ignored: a mistyped filter must not answer as if it
 * were not there.
 * @throws ApiProblem parametro_desconocido, parametro_invalido
 */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input, inSpanish);
  if (result.success) return result.data;
  const errors = result.error.issues.flatMap((issue) => problemsOf(issue));
  const unknown = errors.filter((error) => error.unknown);
  if (unknown.length > 0) throw unknownNames(unknown.map(({ campo }) => campo));
  const told = errors.slice(0, maxErrors).map(({ campo, mensaje }) => ({ campo, mensaje }));
  throw new ApiProblem('parametro_invalido', `${told[0]!.campo}: ${told[0]!.mensaje}.`, { errors: told });
}

/** A route without query parameters: any is unknown. */
export function refuseQuery(context: ApiContext): void {
  if (context.querystring === '') return;
  const names = Object.keys(context.query);
  if (names.length > 0) throw unknownNames(names.map(maskText));
}

/** Of one request: the first ones tell what is wrong, and a body of 64 kB has room for tens of thousands. */
const maxErrors = 20;

function unknownNames(names: readonly string[]): ApiProblem {
  const told = names.slice(0, maxErrors);
  const others = names.length > told.length ? ` y ${names.length - told.length} más` : '';
  return new ApiProblem('parametro_desconocido', `Esta operación no conoce: ${told.join(', ')}${others}.`, {
    errors: told.map((campo) => ({ campo, mensaje: unknownText })),
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
  // Of a choice between shapes, the shape that came closest tells what is wrong.
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

/** Enough for 1,000 RUCs with much room; a larger body is refused before it is read whole. */
const maxBodyBytes = 64 * 1024;

const jsonTypes = ['application/json', 'application/*+json'];

const parse = bodyParser({
  enableTypes: ['json'],
  // What readBody lets through; the library's own list names only some of the second kind and passes over the others' bodies.
  extendTypes: { json: jsonTypes },
  jsonLimit: maxBodyBytes,
  jsonStrict: true,
  onError: (error, { req }) => {
    // What is left of a body that was refused half way: unread it would stand before the connection's next request.
    req.resume();
    throw bodyProblem(error);
  },
});

/** Reads a JSON body; the route then takes it with `bodyOf`. */
export const readBody: ApiMiddleware = async (context, next) => {
  const hasBody = context.req.headers['transfer-encoding'] !== undefined || Number(context.get('Content-Length')) > 0;
  if (hasBody && !context.is(jsonTypes))
    throw new ApiProblem('tipo_no_admitido', 'El cuerpo debe enviarse como Content-Type: application/json.');
  // The parser reads any other as UTF-8 too: names would be kept as nobody wrote them.
  if (!utf8Names.has(context.request.charset.toLowerCase()))
    throw new ApiProblem('tipo_no_admitido', 'El cuerpo debe enviarse en UTF-8.');
  // The parser's unpacking goes on after it has refused a body: corrupt data then end the process. And 64 kB need no packing.
  if (!['', 'identity'].includes(context.get('Content-Encoding')))
    throw new ApiProblem('tipo_no_admitido', 'El cuerpo debe enviarse sin comprimir, sin Content-Encoding.');
  return parse(context, () => {
    // Stands for bytes that are no UTF-8, as a program that says nothing of its charset may send them.
    if (context.request.rawBody?.includes('\uFFFD'))
      throw new ApiProblem(
        'json_invalido',
        'El cuerpo no está en UTF-8: una letra con tilde o una ñ llegó con otra codificación.',
      );
    return next();
  });
};

/** ASCII is UTF-8 too; empty: none is said. */
const utf8Names = new Set(['', 'utf-8', 'utf8', 'us-ascii']);

/** @throws ApiProblem json_invalido, parametro_desconocido, parametro_invalido */
export function bodyOf<Schema extends z.ZodType>(context: ApiContext, schema: Schema): z.output<Schema> {
  if (!context.request.rawBody) throw new ApiProblem('json_invalido', 'Falta el cuerpo JSON de la petición.');
  return parseInput(schema, context.request.body);
}

/** As `bodyOf`, for an operation whose body may be left out. */
export function optionalBodyOf<Schema extends z.ZodType>(context: ApiContext, schema: Schema): z.output<Schema> {
  return parseInput(schema, context.request.rawBody ? context.request.body : {});
}

function bodyProblem(error: Error): ApiProblem {
  const status = 'status' in error ? error.status : undefined;
  if (status === 413) return new ApiProblem('cuerpo_demasiado_grande', 'El cuerpo admite hasta 64 kB.');
  // The parser's own text quotes the body, which may hold anything.
  return new ApiProblem('json_invalido', 'El cuerpo no es un objeto JSON válido.');
}

/** @throws ApiProblem ruc_formato, ruc_digito_verificador (which names the digit that would be right) */
export function requireRuc(text: string): string {
  const check = checkRuc(text);
  if (check.ok) return check.ruc;
  throw rucProblem(text, check);
}

/** A natural person's record is opened by a data-processing contract alone, whether or not it exists. */
export function requireContract(caller: Caller): string {
  if (caller.contract !== null) return caller.contract;
  throw contractRequired();
}

export function contractRequired(): ApiProblem {
  return new ApiProblem(
    'contrato_requerido',
    'Los RUC de personas naturales se consultan solo con un contrato de tratamiento de datos vigente.',
  );
}

/** The code that refuses a RUC in a watch list; null: it is a company's. */
export function refusalOfMember(text: string): 'ruc_formato' | 'ruc_digito_verificador' | 'solo_empresas' | null {
  const check = checkRuc(text);
  if (!check.ok) return check.problem === 'check_digit' ? 'ruc_digito_verificador' : 'ruc_formato';
  return isCompany(text) ? null : 'solo_empresas';
}

/** @throws ApiProblem 422 solo_empresas, 400 ruc_formato, ruc_digito_verificador */
export function requireCompany(text: string): string {
  const ruc = requireRuc(text);
  if (isCompany(ruc)) return ruc;
  throw new ApiProblem('solo_empresas', 'Las listas admiten solo RUC de empresas (los que empiezan con 20).');
}

/** What is wrong with a text that should be a RUC, in words; the text is masked where it is repeated. */
export function rucProblem(text: string, problem: RucProblem): ApiProblem {
  switch (problem.problem) {
    case 'length':
      return new ApiProblem(
        'ruc_formato',
        `El RUC tiene ${rucLength} dígitos; se recibieron ${problem.length} caracteres.`,
      );
    case 'characters':
      return new ApiProblem('ruc_formato', 'El RUC se compone solo de dígitos, sin letras, guiones ni espacios.');
    case 'prefix':
      return new ApiProblem('ruc_formato', 'El RUC empieza con 10, 15, 16, 17 o 20.');
    case 'check_digit':
      return new ApiProblem(
        'ruc_digito_verificador',
        `El dígito verificador de ${maskRuc(text)} no es correcto: debería ser ${problem.expected}.`,
        { encontrado: false },
      );
  }
}
