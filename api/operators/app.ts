import Router from '@koa/router';
import type Koa from 'koa';
import type { ApiDependencies } from '../dependencies.ts';
import { makeKoaApp } from '../koa-app.ts';
import { mountAssets, readAssets } from '../pages/assets.ts';
import { mountPages } from '../pages/mount.tsx';
import { makeOperatorPages, operatorFace, operatorSignInPath } from '../pages/operator/table.ts';
import { makeProblemPage } from '../pages/problem-page.tsx';
import type { RequestState } from '../request.ts';
import type { OperatorDependencies } from './dependencies.ts';
import { findOperatorSession } from './sessions.ts';

type KoaDependencies = Pick<ApiDependencies, 'requestLog' | 'metrics' | 'baseUrl' | 'minuteLimits'>;

/** Makes the app of the operators' listener. It has pages only, on the same ground as the public ones. */
export function makeOperatorApp(dependencies: OperatorDependencies & KoaDependencies): Koa<RequestState> {
  const { site, pool } = dependencies;
  const router = new Router<RequestState>();
  const assets = readAssets();
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
