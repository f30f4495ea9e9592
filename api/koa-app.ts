import type { IncomingMessage } from 'node:http';
import { propagation, ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api';
import Koa from 'koa';
import { Histogram, type Registry } from 'prom-client';
import { describeError, type Logger } from '../pipelines/runtime/log.ts';
import { failSpan, inSpan } from '../pipelines/runtime/tracing/span.ts';
import type { ProblemDocument } from '../schemas/http/problem.ts';
import type { ApiDependencies } from './dependencies.ts';
import { countRequest, makeRefusalCounter } from './metering/middleware.ts';
import {
  ApiProblem,
  isUnavailable,
  maskedPath,
  maskText,
  methodNotAllowed,
  problemBody,
  storeUnavailable,
} from './problems.ts';
import { type ApiContext, type ApiRouter, type RequestState, requestIdOf } from './request.ts';

const secondsName = 'padron_api_request_seconds';

type RecordRequest = (context: ApiContext, startedMs: number, problem: ApiProblem | undefined) => void;

/**
 * Makes the function that records each request as one log line, one measurement and attributes of its span. All three
 * have the route's template. None has the path or the query, which may contain a RUC.
 */
function makeRequestRecord(log: Logger, metrics: Registry): RecordRequest {
  // The operators' console is a second app of this process, and both measure into one metric.
  const known = metrics.getSingleMetric(secondsName) as Histogram<'route' | 'method' | 'status'> | undefined;
  const seconds =
    known ??
    new Histogram({
      name: secondsName,
      help: 'Time from the start of a request to its answer, by route template, method and status.',
      labelNames: ['route', 'method', 'status'] as const,
      buckets: [0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers: [metrics],
    });
  return (context, startedMs, problem) => {
    const route = context.routeMatched ? String(context._matchedRoute).replace(/:([a-z_]+)/g, '{$1}') : noRoute;
    const elapsedMs = performance.now() - startedMs;
    const { method, status } = context;
    // Unknown methods share one label, because a metric keeps every label for ever.
    seconds.observe({ route, method: knownMethods.has(method) ? method : 'other', status }, elapsedMs / 1_000);
    const span = trace.getActiveSpan();
    if (span !== undefined) describe(span, context, route, problem);
    const { caller, requestId } = context.state;
    log.info(
      {
        request_id: maskText(requestId),
        method,
        route,
        status,
        code: problem?.code,
        duration_ms: Math.round(elapsedMs * 10) / 10,
        account: caller?.accountId,
        token_id: caller?.tokenId,
      },
      'request',
    );
  };
}

/**
 * Names the span and sets its attributes by OpenTelemetry's HTTP conventions. Path and query are left out, because they
 * contain what the caller looks up.
 */
function describe(span: Span, context: ApiContext, route: string, problem: ApiProblem | undefined): void {
  const { method, status } = context;
  const known = knownMethods.has(method);
  const name = known ? method : 'HTTP';
  span.updateName(route === noRoute ? name : `${name} ${route}`).setAttributes({
    'http.request.method': known ? method : '_OTHER',
    'http.route': route === noRoute ? undefined : route,
    'http.response.status_code': status,
    'padron.request_id': maskText(context.state.requestId),
    'padron.code': problem?.code,
    'padron.account': context.state.caller?.accountId,
  });
  if (status >= 500) failSpan(span, problem?.code ?? String(status));
}

const noRoute = 'none';
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);

type KoaAppDependencies = Pick<
  ApiDependencies,
  'log' | 'requestLog' | 'metrics' | 'baseUrl' | 'minuteLimits' | 'proxyHops'
>;

/** Answers with a page in place of the JSON, where a person sees the answer. Returns false where it did not. */
type ShowProblem = (context: ApiContext, problem: ProblemDocument) => boolean;

/** Makes the app from the routes. Adds what all routes share: request id, problems, one record per request. */
export function makeKoaApp(
  router: ApiRouter,
  dependencies: KoaAppDependencies,
  showProblem?: ShowProblem,
): Koa<RequestState> {
  const record = makeRequestRecord(dependencies.requestLog, dependencies.metrics);
  const countRefusal = makeRefusalCounter(dependencies.metrics);
  const app = new Koa<RequestState>({ proxy: dependencies.proxyHops > 0, maxIpsCount: dependencies.proxyHops });
  app.use(({ req: { headers } }, next) => {
    // Node joins repeated traceparent headers into one malformed value, which OpenTelemetry ignores. The caller's
    // tracestate is left out, because it may contain any text.
    const caller = propagation.extract(ROOT_CONTEXT, { traceparent: headers.traceparent });
    // `record` names and describes the span later, when the route is known.
    return inSpan('HTTP', { kind: SpanKind.SERVER }, next, caller);
  });
  app.use(async (context, next) => {
    const startedMs = performance.now();
    context.state.requestId = requestIdOf(context.req.headers['x-request-id']);
    context.set('X-Request-Id', context.state.requestId);
    context.state.countRequest = (subject) => countRequest(context as ApiContext, dependencies.minuteLimits, subject);
    let problem: ApiProblem | undefined;
    try {
      requireHost(context.req);
      await next();
    } catch (error) {
      problem = answerProblem(context as ApiContext, error, dependencies.log, dependencies.baseUrl, showProblem);
      countRefusal(problem, context.state.caller);
    }
    record(context as ApiContext, startedMs, problem);
  });
  app.use(router.routes());
  app.use(refuseUnknownPath);
  // Our middleware answers and logs every error, so only errors of broken sockets arrive here. `silent` and a listener
  // keep Koa from printing them.
  app.silent = true;
  app.on('error', (error: Error) => dependencies.log.debug({ err: error }, 'a response could not be sent'));
  return app as Koa<RequestState>;
}

/** HTTP/1.1 requires Host. serve.ts turns Node's own check off, because Node's refusal has no body. */
function requireHost({ httpVersion, headers }: Pick<IncomingMessage, 'httpVersion' | 'headers'>): void {
  if (httpVersion === '1.1' && headers.host === undefined)
    throw new ApiProblem('peticion_mal_formada', 'Falta la cabecera Host.');
}

/** Answers 404 for an unknown path, and 405 for a method that a known path does not have. Neither needs a token. */
async function refuseUnknownPath(context: { method: string } & Pick<ApiContext, 'matched'>): Promise<void> {
  const methods = new Set((context.matched ?? []).flatMap((layer) => layer.methods));
  if (methods.size > 0) throw methodNotAllowed(context.method, [...methods].sort());
  throw new ApiProblem('ruta_no_encontrada', 'Esta ruta no existe en la versión 1 de la API. /docs muestra todas.');
}

/** Answers an error with its problem. An unexpected error becomes `error_interno`, and the answer shows no detail. */
export function answerProblem(
  context: ApiContext,
  error: unknown,
  log: Logger,
  baseUrl: string,
  showProblem: ShowProblem = () => false,
): ApiProblem {
  const problem = asProblem(error);
  const { requestId } = context.state;
  if (problem.status >= 500 && problem.cause !== undefined)
    log.error(
      { request_id: maskText(requestId), code: problem.code, failure: masked(describeError(problem.cause)) },
      'request failed',
    );
  // Remove headers that the handler set for its own answer. With an ETag a client could cache the problem.
  for (const name of ['ETag', 'Last-Modified', 'Vary', 'Location']) context.remove(name);
  const body = problemBody(problem, { baseUrl, instance: maskedPath(context.path), requestId });
  context.set(problem.headers);
  if (showProblem(context, body)) return problem;
  context.status = problem.status;
  context.set({
    'Cache-Control': 'no-store',
    'Content-Language': 'es',
    'Content-Type': 'application/problem+json',
  });
  context.body = JSON.stringify(body);
  return problem;
}

function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  if (isUnavailable(error)) return storeUnavailable(error);
  const problem = new ApiProblem('error_interno', 'Ocurrió un error en el servicio. Cite el request_id al reportarlo.');
  problem.cause = error;
  return problem;
}

// Databases quote queries and parameters in error messages, so the messages are masked before they are logged.
function masked(failure: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(failure).map(([name, value]) => {
      if (typeof value === 'string') return [name, maskText(value)];
      return [name, name === 'cause' ? masked(value as Record<string, unknown>) : value];
    }),
  );
}
