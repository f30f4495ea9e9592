import type { Pool } from '../pipelines/runtime/postgres.ts';
import { hasLists } from '../pipelines/watch/lists.ts';
import {
  type Caller,
  type Identify,
  type IdentifyReader,
  type PlanName,
  planRanks,
  requirePlan,
} from './accounts/callers.ts';
import type { ApiDependencies } from './dependencies.ts';
import { accountSubject, addressSubject } from './metering/minute-limits.ts';
import type { Access } from './operations.ts';
import { fieldProblem } from './problems.ts';
import type { ApiMiddleware } from './request.ts';

export type AccessDependencies = Pick<ApiDependencies, 'identify' | 'identifyReader' | 'pool' | 'sandboxToken'>;

/**
 * Makes one middleware for each kind of access. The middleware must run first in its operation. It checks token, minute
 * limit and plan before any input is read.
 */
export function makeAccess(dependencies: AccessDependencies): Readonly<Record<Access, ApiMiddleware>> {
  const { identify, identifyReader, pool, sandboxToken } = dependencies;
  return {
    free: requireCaller(identify, 'free', pool),
    micro: requireCaller(identify, 'micro', pool),
    crecimiento: requireCaller(identify, 'crecimiento', pool),
    // An account whose plan no longer includes watch lists can still read its lists, but cannot change them.
    crecimiento_or_lists: requireCaller(identify, 'crecimiento_or_lists', pool),
    empresa: requireCaller(identify, 'empresa', pool),
    calendar: requireReader(identifyReader),
    calendar_feed: requireReader(identifyReader, sandboxToken),
  };
}

/** The kinds of access that depend on the account's plan. */
export type PlanAccess = Extract<Access, PlanName | 'crecimiento_or_lists'>;

/** @throws ApiProblem plan_insuficiente */
export async function requireAccess(caller: Caller, access: PlanAccess, pool: Pool): Promise<void> {
  const plan = access === 'crecimiento_or_lists' ? 'crecimiento' : access;
  if (caller.planRank >= planRanks[plan]) return;
  if (access === 'crecimiento_or_lists' && (await hasLists(pool, caller.accountId))) return;
  requirePlan(caller, plan);
}

function requireCaller(identify: Identify, access: PlanAccess, pool: Pool): ApiMiddleware {
  return async (context, next) => {
    const caller = await identify(context.req.headers.authorization);
    context.state.caller = caller;
    await context.state.countRequest(accountSubject(caller));
    await requireAccess(caller, access, pool);
    return next();
  };
}

/**
 * Makes the middleware for calendar operations, which every plan includes free of charge. A calendar program cannot
 * send headers, so a feed also takes the public sandbox token in its address. Any other token in an address is refused,
 * because browser histories and server logs keep addresses.
 * @param tokenInAddress the only token that an address may contain; if omitted, a token in the address is not read
 */
function requireReader(identifyReader: IdentifyReader, tokenInAddress?: string): ApiMiddleware {
  return async (context, next) => {
    const token = tokenInAddress === undefined ? undefined : context.query.token;
    if (token !== undefined && token !== tokenInAddress)
      throw fieldProblem(
        'parametro_invalido',
        'token',
        'solo se admite el token de pruebas',
        'token: en la dirección se admite solo el token de pruebas; un token propio va en la cabecera Authorization.',
      );
    const caller = token === undefined ? await identifyReader(context.req.headers.authorization) : null;
    if (caller !== null) context.state.caller = caller;
    await context.state.countRequest(caller === null ? addressSubject(context.ip) : accountSubject(caller));
    return next();
  };
}
