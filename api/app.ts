import type Koa from 'koa';
import type { ApiDependencies } from './dependencies.ts';
import { makeKoaApp } from './koa-app.ts';
import { makeAdmission } from './pages/admission.tsx';
import { mountStatusFeeds } from './pages/anyone/status-feeds.ts';
import { mountAssets, readAssets } from './pages/assets.ts';
import { makeAsk } from './pages/docs/ask.ts';
import { publicFace } from './pages/layout.tsx';
import { mountPages } from './pages/mount.tsx';
import { makeProblemPage } from './pages/problem-page.tsx';
import { findSession } from './pages/sessions/sessions.ts';
import { makePages, signInPath } from './pages/table.ts';
import type { ApiContext, ApiRouter, RequestState } from './request.ts';
import { type Handlers, makeRouter } from './router.ts';
import { makeAccountHandlers } from './routes/account.ts';
import { makeBatchHandlers } from './routes/batch.ts';
import { makeCalendarHandlers } from './routes/calendar.ts';
import { makeDeliveryHandlers, makeRecoveryHandlers } from './routes/deliveries.ts';
import { mountDocumentation } from './routes/documentation.ts';
import { makeEditionHandlers } from './routes/editions.ts';
import { makeEventHandlers } from './routes/events.ts';
import { makeHistoryHandlers } from './routes/history.ts';
import { makeListHandlers, makeMemberHandlers } from './routes/lists.ts';
import { makeSearchHandlers } from './routes/search.ts';
import { makeSupplierHandlers } from './routes/supplier.ts';
import { makeTaxpayerHandlers } from './routes/taxpayer.ts';
import { makeWebhookActionHandlers, makeWebhookHandlers } from './routes/webhooks.ts';

export function makeApp(dependencies: ApiDependencies): Koa<RequestState> {
  const router = makeApiRouter(dependencies);
  const site = { baseUrl: dependencies.baseUrl, proxyHops: dependencies.proxyHops };
  const assets = readAssets();
  mountAssets(router, assets);
  mountStatusFeeds(router, { ...dependencies, site });
  const findCallersSession = async (secret: string, context: ApiContext) => {
    const session = await findSession(dependencies.pool, secret);
    // With the caller in its state, the request's log line names account and token.
    if (session !== null) context.state.caller = session.caller;
    return session;
  };
  const pages = makePages({ ...dependencies, site, ask: makeAsk(() => app.callback()) });
  mountPages(router, pages, {
    ...{ site, assets, signInPath, face: publicFace, findSession: findCallersSession },
    cookies: { session: 'session', visitor: 'visitor' },
    admission: makeAdmission(dependencies.pool),
  });
  const app = makeKoaApp(router, dependencies, makeProblemPage(site, assets, publicFace));
  return app;
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
    ...makeEditionHandlers(dependencies),
    ...makeAccountHandlers(dependencies),
  } satisfies Handlers;
  const router = makeRouter(handlers, dependencies);
  mountDocumentation(router, dependencies);
  return router;
}
