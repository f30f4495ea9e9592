import Router from '@koa/router';
import type Koa from 'koa';
import { type KoaAppParts, makeKoaApp } from './koa-app.ts';
import type { ApiRouter, RequestState } from './request.ts';
import { registerCalendarRoutes } from './routes/calendar.ts';
import type { CalendarParts } from './routes/calendar-access.ts';
import { registerCalendarFeeds } from './routes/calendar-feeds.ts';
import { type EventParts, registerEventRoutes } from './routes/events.ts';
import { type HistoryParts, registerHistoryRoutes } from './routes/history.ts';
import { registerListRoutes } from './routes/lists.ts';
import { type MemberParts, registerMemberRoutes } from './routes/members.ts';
import { registerTaxpayerRoutes, type TaxpayerParts } from './routes/taxpayer.ts';
import { registerWebhookRoutes, type WebhookParts } from './routes/webhooks.ts';

export interface ApiParts
  extends TaxpayerParts,
    HistoryParts,
    MemberParts,
    WebhookParts,
    EventParts,
    CalendarParts,
    KoaAppParts {}

/** The public API from its parts; it listens nowhere. */
export function makeApp(parts: ApiParts): Koa<RequestState> {
  const router: ApiRouter = new Router<RequestState>();
  registerTaxpayerRoutes(router, parts);
  registerHistoryRoutes(router, parts);
  registerListRoutes(router, parts);
  registerMemberRoutes(router, parts);
  registerWebhookRoutes(router, parts);
  registerEventRoutes(router, parts);
  registerCalendarFeeds(router, parts);
  registerCalendarRoutes(router, parts);
  return makeKoaApp(router, parts);
}
