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
    free: requireCaller(identify, 'free'),
    micro: requireCaller(identify, 'micro'),
    crecimiento: requireCaller(identify, 'crecimiento'),
    // An account whose plan no longer includes watch lists can still read its lists, but cannot change them.
    crecimiento_or_lists: requireCaller(identify, 'crecimiento', ({ accountId }) => hasLists(pool, accountId)),
    empresa: requireCaller(identify, 'empresa'),
    calendar: requireReader(identifyReader),
    calendar_feed: requireReader(identifyReader, sandboxToken),
  };
}

/** @param isExcepted resolves with true when a caller may go on although its plan is too low */
function requireCaller(
  identify: Identify,
  plan: PlanName,
  isExcepted: (caller: Caller) => Promise<boolean> = async () => false,
): ApiMiddleware {
  return async (context, next) => {
    const caller = await identify(context.req.headers.authorization);
    context.state.caller = caller;
    await context.state.countRequest(accountSubject(caller));
    if (caller.planRank < planRanks[plan] && !(await isExcepted(caller))) requirePlan(caller, plan);
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
