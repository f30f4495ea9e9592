import Router from '@koa/router';
import type Koa from 'koa';
import { type KoaAppParts, makeKoaApp } from './koa-app.ts';
import type { ApiRouter, RequestState } from './request.ts';
import { type AccountParts, registerAccountRoutes } from './routes/account.ts';
import { type BatchParts, registerBatchRoutes } from './routes/batch.ts';
import { registerCalendarRoutes } from './routes/calendar.ts';
import type { CalendarParts } from './routes/calendar-access.ts';
import { registerCalendarFeeds } from './routes/calendar-feeds.ts';
import { registerDeliveryRoutes } from './routes/deliveries.ts';
import { registerDocumentationRoutes } from './routes/documentation.ts';
import { registerEventStreamRoutes, type StreamParts } from './routes/event-stream.ts';
import { registerEventRoutes } from './routes/events.ts';
import { type HistoryParts, registerHistoryRoutes } from './routes/history.ts';
import { registerListRoutes } from './routes/lists.ts';
import { type MemberParts, registerMemberRoutes } from './routes/members.ts';
import { registerNoticeRoutes } from './routes/notices.ts';
import { registerRecoveryRoutes } from './routes/recoveries.ts';
import { registerSearchRoutes, type SearchParts } from './routes/search.ts';
import { registerSupplierRoutes, type SupplierParts } from './routes/supplier.ts';
import { registerTaxpayerRoutes, type TaxpayerParts } from './routes/taxpayer.ts';
import { registerWebhookActionRoutes, type WebhookParts } from './routes/webhook-actions.ts';
import { registerWebhookRoutes } from './routes/webhooks.ts';

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
