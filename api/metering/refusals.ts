import { Counter, type Registry } from 'prom-client';
import type { Caller } from '../accounts/callers.ts';
import type { ApiProblem } from '../problems.ts';

/** Counts a request that a limit refused; any other problem is passed over. No caller: its token was not looked up. */
export type CountRefusal = (problem: ApiProblem, caller: Caller | undefined) => void;

const tooMany = 429;

/** By plan and never by account: a metric's labels are kept for as long as the process lives, and read by many. */
export function makeRefusalCounter(metrics: Registry): CountRefusal {
  const refusals = new Counter({
    name: 'padron_api_limit_refusals_total',
    help: 'Requests refused by a limit (429), by code of the problem and plan of the account; plan none: the sandbox token, or a token that cannot be looked up.',
    labelNames: ['code', 'plan'] as const,
    registers: [metrics],
  });
  return ({ code, status }, caller) => {
    if (status === tooMany) refusals.inc({ code, plan: caller?.plan ?? 'none' });
  };
}
