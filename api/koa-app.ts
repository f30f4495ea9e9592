import type { IncomingMessage } from 'node:http';
import Koa from 'koa';
import { Histogram, type Registry } from 'prom-client';
import { describeError, type Logger } from '../pipelines/runtime/log.ts';
import { noTracing, type OpenUnit, type Tracing } from '../pipelines/runtime/tracing/tracing.ts';
import { countRequest, makeRefusalCounter } from './metering/middleware.ts';
import type { MinuteLimits } from './metering/minute-limits.ts';
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

export type RecordRequest = (context: ApiContext, startedMs: number, problem: ApiProblem | undefined) => void;

/** One wide log line, one measurement and, if there are traces, one span per request: the route's template, never its path or query. */
function makeRequestRecord(log: Logger, metrics: Registry, tracing: Tracing): RecordRequest {
  const seconds = new Histogram({
    name: 'padron_api_request_seconds',
    help: 'Time from the start of a request to its answer, by route template, method and status.',
    labelNames: ['route', 'method', 'status'] as const,
    buckets: [0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [metrics],
  });
  const templates = new Map<string, string>();
  return (context, startedMs, problem) => {
    const route = templateOf(context, templates);
    const elapsedMs = performance.now() - startedMs;
    const { method, status } = context;
    // A made-up method of a caller would be a label of its own.
    seconds.observe({ route, method: knownMethods.has(method) ? method : 'other', status }, elapsedMs / 1_000);
    const unit = tracing.current();
    if (unit !== undefined) describe(unit, context, route, problem);
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

/** By the HTTP conventions of OpenTelemetry, without the path and the query, which hold what is asked for. */
function describe(unit: OpenUnit, context: ApiContext, route: string, problem: ApiProblem | undefined): void {
  const { method, status } = context;
  const known = knownMethods.has(method);
  const name = known ? method : 'HTTP';
  unit.describe(
    {
      'http.request.method': known ? method : '_OTHER',
      'http.route': route === noRoute ? undefined : route,
      'http.response.status_code': status,
      'padron.request_id': maskText(context.state.requestId),
      'padron.code': problem?.code,
      'padron.account': context.state.caller?.accountId,
    },
    route === noRoute ? name : `${name} ${route}`,
  );
  if (status >= 500) unit.fail(problem?.code ?? String(status));
}

const noRoute = 'none';
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);

function templateOf(context: ApiContext, templates: Map<string, string>): string {
  const matched = context.routeMatched ? String(context._matchedRoute) : noRoute;
  let template = templates.get(matched);
  if (template === undefined) {
    template = matched.replace(/:([a-z_]+)/g, '{$1}');
    templates.set(matched, template);
  }
  return template;
}

export interface KoaAppParts {
  log: Logger;
  /** Takes one line per request. */
  requestLog: Logger;
  metrics: Registry;
  /** Left out: none. */
  tracing?: Tracing;
  /** Where the types of problems are explained, without a slash at its end; empty: relative to this server. */
  baseUrl: string;
  minuteLimits: MinuteLimits;
  /** Proxies of ours before this process, each of which adds the address it was called from to X-Forwarded-For. */
  proxyHops: number;
}

/** What is the same for every route: request id, problems, one record per request. It listens nowhere. */
export function makeKoaApp(router: ApiRouter, parts: KoaAppParts): Koa<RequestState> {
  const { tracing = noTracing } = parts;
  const record = makeRequestRecord(parts.requestLog, parts.metrics, tracing);
  const countRefusal = makeRefusalCounter(parts.metrics);
  const app = new Koa<RequestState>({ proxy: parts.proxyHops > 0, maxIpsCount: parts.proxyHops });
  // Named and described by the record, once it is known which route it was.
  app.use((context, next) => tracing.during({ name: 'HTTP', kind: 'server', ...traceparentOf(context.req) }, next));
  app.use(async (context, next) => {
    const startedMs = performance.now();
    context.state.requestId = requestIdOf(context.req.headers['x-request-id']);
    context.set('X-Request-Id', context.state.requestId);
    context.state.countRequest = (subject) => countRequest(context as ApiContext, parts.minuteLimits, subject);
    let problem: ApiProblem | undefined;
    try {
      requireHost(context.req);
      await next();
    } catch (error) {
      problem = answerProblem(context as ApiContext, error, parts.log, parts.baseUrl);
      countRefusal(problem, context.state.caller);
    }
    record(context as ApiContext, startedMs, problem);
  });
  app.use(router.routes());
  app.use(refuseUnknownPath);
  // Koa's own listener would print what our middleware already answered and logged; what comes here is a broken socket.
  app.silent = true;
  app.on('error', (error: Error) => parts.log.debug({ err: error }, 'a response could not be sent'));
  return app as Koa<RequestState>;
}

/** As HTTP/1.1 demands; the server leaves it to this, since it would answer without a body. */
function requireHost({ httpVersion, headers }: Pick<IncomingMessage, 'httpVersion' | 'headers'>): void {
  if (httpVersion === '1.1' && headers.host === undefined)
    throw new ApiProblem('peticion_mal_formada', 'Falta la cabecera Host.');
}

/** A value that came twice is none: Node joins them. */
function traceparentOf({ headers }: IncomingMessage): { traceparent?: string } {
  return typeof headers.traceparent === 'string' ? { traceparent: headers.traceparent } : {};
}

/** What no route answered: another method of a known path, or an unknown path. Asked before any token. */
async function refuseUnknownPath(context: { method: string } & Pick<ApiContext, 'matched'>): Promise<void> {
  const methods = new Set((context.matched ?? []).flatMap((layer) => layer.methods));
  if (methods.size > 0) throw methodNotAllowed(context.method, [...methods].sort());
  throw new ApiProblem('ruta_no_encontrada', 'Esta ruta no existe en la versión 1 de la API. /docs muestra todas.');
}

/** Answers with the problem that the error is; nothing of the inside is shown. Never kept by anyone. */
export function answerProblem(context: ApiContext, error: unknown, log: Logger, baseUrl: string): ApiProblem {
  const problem = asProblem(error);
  const { requestId } = context.state;
  if (problem.status >= 500 && problem.cause !== undefined)
    log.error(
      { request_id: maskText(requestId), code: problem.code, failure: masked(describeError(problem.cause)) },
      'request failed',
    );
  // What a route set for its own answer must not stay on the problem: an ETag would make it look like a record.
  for (const name of ['ETag', 'Last-Modified', 'Vary', 'Location']) context.remove(name);
  context.status = problem.status;
  context.set({
    'Cache-Control': 'no-store',
    'Content-Language': 'es',
    'Content-Type': 'application/problem+json',
    ...problem.headers,
  });
  const around = { baseUrl, instance: maskedPath(context.path), requestId };
  context.body = JSON.stringify(problemBody(problem, around));
  return problem;
}

function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  if (isUnavailable(error)) return storeUnavailable(error);
  const problem = new ApiProblem('error_interno', 'Ocurrió un error en el servicio. Cite el request_id al reportarlo.');
  problem.cause = error;
  return problem;
}

// Engines quote queries and parameters: what describeError leaves of their messages is masked before it is logged.
function masked(told: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(told).map(([name, value]) => {
      if (typeof value === 'string') return [name, maskText(value)];
      return [name, name === 'cause' ? masked(value as Record<string, unknown>) : value];
    }),
  );
}
