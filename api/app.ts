import type Koa from 'koa';
import type { AccessDependencies } from './access.ts';
import { type KoaAppDependencies, makeKoaApp } from './koa-app.ts';
import type { ApiRouter, RequestState } from './request.ts';
import { type Handlers, makeRouter } from './router.ts';
import { type AccountDependencies, makeAccountHandlers } from './routes/account.ts';
import { type BatchDependencies, makeBatchHandlers } from './routes/batch.ts';
import { type CalendarDependencies, makeCalendarHandlers } from './routes/calendar.ts';
import { makeDeliveryHandlers, makeRecoveryHandlers } from './routes/deliveries.ts';
import { mountDocumentation } from './routes/documentation.ts';
import { type EventDependencies, makeEventHandlers } from './routes/events.ts';
import { type HistoryDependencies, makeHistoryHandlers } from './routes/history.ts';
import { type ListDependencies, makeListHandlers, makeMemberHandlers } from './routes/lists.ts';
import { makeSearchHandlers, type SearchDependencies } from './routes/search.ts';
import { makeSupplierHandlers, type SupplierDependencies } from './routes/supplier.ts';
import { makeTaxpayerHandlers, type TaxpayerDependencies } from './routes/taxpayer.ts';
import { makeWebhookActionHandlers, makeWebhookHandlers, type WebhookDependencies } from './routes/webhooks.ts';

export interface ApiDependencies
  extends AccessDependencies,
    AccountDependencies,
    TaxpayerDependencies,
    HistoryDependencies,
    BatchDependencies,
    SupplierDependencies,
    SearchDependencies,
    ListDependencies,
    WebhookDependencies,
    EventDependencies,
    CalendarDependencies,
    KoaAppDependencies {}

export function makeApp(dependencies: ApiDependencies): Koa<RequestState> {
  return makeKoaApp(makeApiRouter(dependencies), dependencies);
}

export function makeApiRouter(dependencies: ApiDependencies): ApiRouter {
  const handlers = {
    ...makeTaxpayerHandlers(dependencies),
    ...makeHistoryHandlers(dependencies),
    ...makeBatchHandlers(dependencies),
    ...makeSearchHandlers(dependencies),
    ...makeSupplierHandlers(dependencies),
    ...makeCalendarHandlers(dependencies),
    ...makeListHandlers(dependencies),
    ...makeMemberHandlers(dependencies),
    ...makeEventHandlers(dependencies),
    ...makeWebhookHandlers(dependencies),
    ...makeWebhookActionHandlers(dependencies),
    ...makeDeliveryHandlers(dependencies),
    ...makeRecoveryHandlers(dependencies),
    ...makeAccountHandlers(dependencies),
  } satisfies Handlers;
  const router = makeRouter(handlers, dependencies);
  mountDocumentation(router, dependencies);
  return router;
}
