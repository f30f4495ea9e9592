import type { IncomingMessage } from 'node:http';
import Koa from 'koa';
import type { Registry } from 'prom-client';
import type { Logger } from '../pipelines/runtime/log.ts';
import { noTracing, type Tracing } from '../pipelines/runtime/tracing/tracing.ts';
import { countRequest } from './metering/counted.ts';
import type { MinuteLimits } from './metering/minute-limits.ts';
import { makeRefusalCounter } from './metering/refusals.ts';
import { ApiProblem, methodNotAllowed } from './problems.ts';
import { type ApiContext, type ApiRouter, type RequestState, requestIdOf } from './request.ts';
import { makeRequestRecord } from './request-record.ts';
import { answerProblem } from './unexpected.ts';

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
  app.use(noRoute);
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
async function noRoute(context: { method: string } & Pick<ApiContext, 'matched'>): Promise<void> {
  const methods = new Set((context.matched ?? []).flatMap((layer) => layer.methods));
  if (methods.size > 0) throw methodNotAllowed(context.method, [...methods].sort());
  throw new ApiProblem('ruta_no_encontrada', 'Esta ruta no existe en la versión 1 de la API. /docs muestra todas.');
}
