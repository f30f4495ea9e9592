import Router from '@koa/router';
import type { Client } from '@temporalio/client';
import type Koa from 'koa';
import { openArchive } from '../pipelines/archive/open.ts';
import { type Lifecycle, startRepeating } from '../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../pipelines/runtime/log.ts';
import { orderRun, reconcileId, wakePublish } from '../workflows/publication/schedule.ts';
import type { ApiConfiguration } from './config.ts';
import type { ApiDependencies } from './dependencies.ts';
import { makeKoaApp } from './koa-app.ts';
import { type IdentityProviderSettings, identityProviderOf } from './operators/config.ts';
import type { OperatorDependencies } from './operators/dependencies.ts';
import type { IdentityProvider } from './operators/identity-provider.ts';
import { PublishedLines } from './operators/published-lines.ts';
import { findOperatorSession } from './operators/sessions.ts';
import { mountAssets, readAssets } from './pages/assets.ts';
import { mountPages } from './pages/mount.tsx';
import {
  makeOperatorPages,
  type OperatorPageDependencies,
  operatorFace,
  operatorSignInPath,
} from './pages/operator/table.ts';
import { makeProblemPage } from './pages/problem-page.tsx';
import type { RequestState } from './request.ts';
import { serve } from './serve.ts';

type KoaDependencies = Pick<ApiDependencies, 'requestLog' | 'metrics' | 'baseUrl' | 'minuteLimits'>;

/** Makes the app of the operators' listener. It has pages only, on the same ground as the public ones. */
export function makeOperatorApp(dependencies: OperatorPageDependencies & KoaDependencies): Koa<RequestState> {
  const { site, pool } = dependencies;
  const router = new Router<RequestState>();
  const assets = readAssets('operators');
  mountAssets(router, assets);
  mountPages(router, makeOperatorPages(dependencies), {
    ...{ site, assets, face: operatorFace, signInPath: operatorSignInPath },
    cookies: { session: 'operator', visitor: 'operatorVisitor' },
    admission: null,
    findSession: (secret) => findOperatorSession(pool, secret),
  });
  const koa = { ...dependencies, proxyHops: site.proxyHops };
  return makeKoaApp(router, koa, makeProblemPage(site, assets, operatorFace));
}

type Shared = Pick<OperatorDependencies, 'lastKnownRows' | 'wake'> &
  Pick<ApiDependencies, 'pool' | 'log' | 'requestLog' | 'metrics' | 'baseUrl' | 'minuteLimits' | 'now'>;

/**
 * Opens the operators' listener if its port is set, and stops it with this process. It has a port of its own, so that
 * no rule of a proxy before the public port can let anybody in.
 * @param temporal null without an address of Temporal
 */
export async function listenForOperators(
  lifecycle: Lifecycle,
  config: ApiConfiguration,
  shared: Shared,
  temporal: Client | null,
): Promise<void> {
  const { OPERATOR_HTTP_PORT: port, OPERATOR_HTTP_HOST: host, OPERATOR_BASE_URL: baseUrl } = config;
  if (port === undefined) return;
  const { log } = shared;
  const { ARCHIVE_URL: archiveUrl, WORK_DIR: workDir } = config;
  const hasArchive = archiveUrl !== undefined && workDir !== undefined;
  const archive = hasArchive ? await openArchive(archiveUrl, workDir) : null;
  const lines = archive && hasArchive ? new PublishedLines({ pool: shared.pool, archive, workDir, log }) : null;
  const settings = identityProviderOf(config);
  const app = makeOperatorApp({
    ...shared,
    provider: settings && (await openProvider(settings)),
    site: { baseUrl: baseUrl ?? '', proxyHops: baseUrl === undefined ? 0 : config.TRUSTED_PROXY_HOPS },
    archive,
    lines,
    wakePublish: makeWakePublish(temporal, log),
    giveOrder:
      temporal &&
      ((order) =>
        temporal.withDeadline(Date.now() + wakeDeadlineMs, () =>
          orderRun(temporal, order === 'verify' ? reconcileId : order),
        )),
  });
  const serving = await serve(app.callback(), { host, port, baseUrl: shared.baseUrl, log: shared.requestLog });
  lifecycle.onStop('operators', serving.stop);
  if (lines !== null) {
    const stopPreparing = startRepeating('keep lines', prepareEveryMs, log, () => lines.prepareNewest(), 'at_once');
    lifecycle.onStop('lines', async () => {
      await lines.stop();
      await stopPreparing();
    });
  }
  log.info({ port: serving.port }, 'listening for operators');
}

/** The library is imported only where it is used. */
async function openProvider(settings: IdentityProviderSettings): Promise<IdentityProvider> {
  const { IdentityProvider } = await import('./operators/identity-provider.ts');
  return new IdentityProvider(settings);
}

/** A new edition's lines are ready this long after it, and the time that reading takes. */
const prepareEveryMs = 60_000;

/** A decision is committed before the wake-up, so a wake-up that fails must not look like a decision that failed. */
function makeWakePublish(temporal: Client | null, log: Logger): OperatorDependencies['wakePublish'] {
  return async (register) => {
    if (temporal === null) return;
    const deadline = Date.now() + wakeDeadlineMs;
    await temporal
      .withDeadline(deadline, () => wakePublish(temporal, register))
      .catch((error: unknown) => log.warn({ err: error, register }, 'a wake-up did not arrive; the sweeper makes up'));
  };
}

const wakeDeadlineMs = 3_000;
