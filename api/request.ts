import { randomUUID } from 'node:crypto';
import type Router from '@koa/router';
import type { RouterContext } from '@koa/router';
import type { z } from 'zod';
import { type Caller, type Identify, type PlanName, planRanks, requirePlan } from './accounts/callers.ts';
import { accountSubject, type MinuteSubject } from './metering/subjects.ts';
import type { Reservation } from './metering/types.ts';
import { ApiProblem, maskText } from './problems.ts';
import { spanishIssue } from './spanish-issues.ts';

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
