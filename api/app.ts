import Router from '@koa/router';
import type Koa from 'koa';
import { type KoaAppParts, makeKoaApp } from './koa-app.ts';
import type { ApiRouter, RequestState } from './request.ts';
import { type AccountParts, registerAccountRoutes } from './routes/account.ts';
import { type BatchParts, registerBatchRoutes } from './routes/batch.ts';
import { type CalendarParts, registerCalendarFeeds, registerCalendarRoutes } from './routes/calendar.ts';
import { registerDeliveryRoutes, registerRecoveryRoutes } from './routes/deliveries.ts';
import { registerDocumentationRoutes } from './routes/documentation.ts';
import { registerEventStreamRoutes, type StreamParts } from './routes/event-stream.ts';
import { registerEventRoutes, registerNoticeRoutes } from './routes/events.ts';
import { type HistoryParts, registerHistoryRoutes } from './routes/history.ts';
import { type MemberParts, registerListRoutes, registerMemberRoutes } from './routes/lists.ts';
import { registerSearchRoutes, type SearchParts } from './routes/search.ts';
import { registerSupplierRoutes, type SupplierParts } from './routes/supplier.ts';
import { registerTaxpayerRoutes, type TaxpayerParts } from './routes/taxpayer.ts';
import { registerWebhookActionRoutes, registerWebhookRoutes, type WebhookParts } from './routes/webhooks.ts';

export interface ApiParts
  extends AccountParts,
    TaxpayerParts,
    HistoryParts,
    BatchParts,
    SupplierParts,
    SearchParts,
    MemberParts,
    WebhookParts,
    StreamParts,
    CalendarParts,
    KoaAppParts {}

/** The public API from its parts; it listens nowhere. */
export function makeApp(parts: ApiParts): Koa<RequestState> {
  return makeKoaApp(makeRouter(parts), parts);
}

/** All routes; those of the public API stand in api/openapi/routes.ts too. */
export function makeRouter(parts: ApiParts): ApiRouter {
  const router: ApiRouter = new Router<RequestState>();
  registerDocumentationRoutes(router, parts);
  registerAccountRoutes(router, parts);
  registerSearchRoutes(router, parts);
  registerBatchRoutes(router, parts);
  registerTaxpayerRoutes(router, parts);
  registerHistoryRoutes(router, parts);
  registerSupplierRoutes(router, parts);
  registerListRoutes(router, parts);
  registerMemberRoutes(router, parts);
  registerWebhookRoutes(router, parts);
  registerWebhookActionRoutes(router, parts);
  registerDeliveryRoutes(router, parts);
  registerRecoveryRoutes(router, parts);
  registerNoticeRoutes(router, parts);
  registerEventRoutes(router, parts);
  registerEventStreamRoutes(router, parts);
  registerCalendarFeeds(router, parts);
  registerCalendarRoutes(router, parts);
  return router;
}
