import { Histogram, type Registry } from 'prom-client';
import type { Logger } from '../pipelines/runtime/log.ts';
import type { OpenUnit, Tracing } from '../pipelines/runtime/tracing/tracing.ts';
import { type ApiProblem, maskText } from './problems.ts';
import type { ApiContext } from './request.ts';

export type RecordRequest = (context: ApiContext, startedMs: number, problem: ApiProblem | undefined) => void;

/** One wide log line, one measurement and, if there are traces, one span per request: the route's template, never its path or query. */
export function makeRequestRecord(log: Logger, metrics: Registry, tracing: Tracing): RecordRequest {
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
