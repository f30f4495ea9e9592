import Router from '@koa/router';
import Koa from 'koa';
import type { Registry } from 'prom-client';
import type { Logger } from '../deploy/runtime/log.ts';
import { ApiProblem } from './problems.ts';
import { type ApiContext, type ApiRouter, type RequestState, requestIdOf } from './request.ts';
import { makeRequestRecord } from './request-record.ts';
import { registerCalendarRoutes } from './routes/calendar.ts';
import type { CalendarParts } from './routes/calendar-access.ts';
import { registerCalendarFeeds } from './routes/calendar-feeds.ts';
import { type EventParts, registerEventRoutes } from './routes/events.ts';
import { registerListRoutes } from './routes/lists.ts';
import { type MemberParts, registerMemberRoutes } from './routes/members.ts';
import { registerTaxpayerRoutes, type TaxpayerParts } from './routes/taxpayer.ts';
import { registerWebhookRoutes, type WebhookParts } from './routes/webhooks.ts';
import { answerProblem } from './unexpected.ts';

export interface ApiParts extends TaxpayerParts, MemberParts, WebhookParts, EventParts, CalendarParts {
  log: Logger;
  /** Takes one line per request. */
  requestLog: Logger;
  metrics: Registry;
  /** Where the types of problems are explained, without a slash at its end; empty: relative to this server. */
  baseUrl: string;
}

/** The public API from its parts; it listens nowhere. */
export function makeApp(parts: ApiParts): Koa<RequestState> {
  const router: ApiRouter = new Router<RequestState>();
  registerTaxpayerRoutes(router, parts);
  registerListRoutes(router, parts);
  registerMemberRoutes(router, parts);
  registerWebhookRoutes(router, parts);
  registerEventRoutes(router, parts);
  registerCalendarFeeds(router, parts);
  registerCalendarRoutes(router, parts);

  const record = makeRequestRecord(parts.requestLog, parts.metrics);
  const app = new Koa<RequestState>();
  app.use(async (context, next) => {
    const startedMs = performance.now();
    context.state.requestId = requestIdOf(context.req.headers['x-request-id']);
    context.set('X-Request-Id', context.state.requestId);
    let problem: ApiProblem | undefined;
    try {
      await next();
    } catch (error) {
      problem = answerProblem(context as ApiContext, error, parts.log, parts.baseUrl);
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

/** What no route answered: another method of a known path, or an unknown path. Asked before any token. */
async function noRoute(context: { method: string } & Pick<ApiContext, 'matched'>): Promise<void> {
  const methods = new Set((context.matched ?? []).flatMap((layer) => layer.methods));
  if (methods.size > 0) {
    const allowed = [...methods].sort().join(', ');
    const detail = `${context.method} no está permitido aquí; se admite: ${allowed}.`;
    throw new ApiProblem('metodo_no_permitido', detail, {}, { Allow: allowed });
  }
  throw new ApiProblem('ruta_no_encontrada', 'Esta ruta no existe en la versión 1 de la API.');
}
