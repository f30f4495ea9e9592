import Router from '@koa/router';
import type { z } from 'zod';
import { type AccessDependencies, makeAccess } from './access.ts';
import { type Answer, sendAnswer, type Validators } from './answers.ts';
import { refuseWholeRuc } from './checks.ts';
import type { Meter } from './metering/meter.ts';
import { metered } from './metering/middleware.ts';
import { type Operation, type OperationName, type Operations, operations, type ParameterOf } from './operations.ts';
import { methodNotAllowed } from './problems.ts';
import {
  type ApiContext,
  type ApiMiddleware,
  type ApiRouter,
  parseBody,
  parseInput,
  queryOf,
  type RequestState,
  readBody,
  refuseQuery,
} from './request.ts';

type OutputOf<O, Part extends 'query' | 'body'> =
  O extends Record<Part, infer Schema extends z.ZodType> ? z.output<Schema> : undefined;

/** A request, parsed by the operation's schemas. `params` has the texts of the path's parameters, not yet checked. */
interface RequestOf<Name extends OperationName> {
  params: Readonly<Record<ParameterOf<Operations[Name]['path']>, string>>;
  query: OutputOf<Operations[Name], 'query'>;
  body: OutputOf<Operations[Name], 'body'>;
}

type ValidatorsOf<O> = O extends { caching: 'revalidated' }
  ? Validators | { tag?: undefined }
  : O extends { caching: 'minute' }
    ? Validators
    : unknown;

/** The answer that the operation's schema requires, with the Validators that its caching needs. */
type ReplyOf<O> = O extends { answer: infer Schema extends z.ZodType }
  ? (Omit<z.input<Schema>, 'success'> & ValidatorsOf<O>) | string
  : undefined;

type Handler<Name extends OperationName> = (
  request: RequestOf<Name>,
  context: ApiContext,
) => ReplyOf<Operations[Name]> | Promise<ReplyOf<Operations[Name]>>;

/** One handler per operation. Each factory in api/routes/ makes the handlers of one area. */
export type Handlers<Names extends OperationName = OperationName> = { readonly [Name in Names]: Handler<Name> };

type AnyHandler = (request: unknown, context: ApiContext) => Promise<Answer | string | undefined>;

/** Name of the router's layer that refuses every method but POST on the path of `consultarLote`. */
export const otherMethods = 'other methods';

/**
 * Mounts the operations that have a handler. For each request, token, minute limit and plan are checked first. Then the
 * body is read as JSON, the schemas check the query and the body, and the handler is called.
 */
export function makeRouter(
  handlers: Partial<Handlers>,
  dependencies: AccessDependencies & { meter: Meter },
): ApiRouter {
  const router: ApiRouter = new Router<RequestState>();
  const access = makeAccess(dependencies);
  const meter = metered(dependencies.meter);
  const mount = ([name, operation]: [string, Operation]) => {
    const path = operation.path.replace(/\{(\w+)\}/g, ':$1');
    const before = [access[operation.access]];
    if (operation.charge !== undefined) before.push(meter);
    if (operation.body !== undefined) before.push(readBody);
    router[operation.method](path, ...before, answering(operation, handlers[name as OperationName] as AnyHandler));
    // The router adds HEAD to every GET, so HEAD is removed here.
    if (operation.isGetOnly === true) router.stack.at(-1)!.methods = ['GET'];
  };
  const mounted = Object.entries<Operation>(operations).filter(([name]) => name in handlers);
  const isFixed = ([, { path }]: [string, Operation]) => !path.includes('{');
  // The router takes the first layer that fits, so fixed paths come before paths with a parameter.
  mounted.filter(isFixed).forEach(mount);
  // The path `ruc/{ruc}` also fits `ruc/batch`, so without this layer a GET would answer that "batch" is not a RUC.
  if ('consultarLote' in handlers)
    router.all(otherMethods, operations.consultarLote.path, ({ method }) => {
      throw methodNotAllowed(method, ['POST']);
    });
  mounted.filter((each) => !isFixed(each)).forEach(mount);
  return router;
}

/** Parses the request by the operation's schemas, calls the handler and sends its answer. */
function answering(operation: Operation, handler: AnyHandler): ApiMiddleware {
  const { query, body, problems } = operation;
  return async (context) => {
    if (problems?.includes('ruc_no_admitido')) refuseWholeRuc(context.query.digito);
    const request = {
      params: context.params,
      query: query === undefined ? refuseQuery(context) : parseInput(query, queryOf(context)),
      body: body && parseBody(context, body, operation),
    };
    sendAnswer(context, operation, await handler(request, context));
  };
}
