import { expect } from 'vitest';
import { type Account, createAccount } from '../../../api/accounts/accounts.ts';
import { createToken } from '../../../api/accounts/tokens.ts';
import type { Pool } from '../../../pipelines/runtime/postgres.ts';
import { type ProblemCode, type ProblemDocument, problemDocument } from '../../../schemas/http/problem.ts';
import { type RunningProcess, startProcess } from '../process/product-process.ts';

/** The real API process with its log. */
export type RunningApi = RunningProcess;

/** @param preloads modules that the process loads before its own code */
export function startApi(environment: Record<string, string>, preloads: readonly string[] = []): Promise<RunningApi> {
  return startProcess('api', { ...apiSecrets, ...environment }, preloads);
}

/** Keys for tests only. */
export const apiSecrets = {
  AUDIT_HMAC_KEY: 'audit key of the tests, at least 32 characters',
  WEBHOOK_SECRET_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
};

/** A caller with a token. Request targets are relative to the API's address. */
export interface TestCaller {
  accountId: number;
  token: string;
  request(target: string, options?: RequestInit & { json?: unknown }): Promise<Response>;
}

export interface AccountOfCaller {
  plan?: string;
  contract?: Account['contract'];
}

export async function makeCaller(pool: Pool, url: string, account: AccountOfCaller = {}): Promise<TestCaller> {
  const { plan = 'crecimiento', contract = null } = account;
  const accountId = await createAccount(pool, { name: 'Cuenta de prueba', plan, email: null, contract });
  const { token } = (await createToken(pool, accountId))!;
  return { accountId, token, request: requestsOf(url, token) };
}

export function requestsOf(url: string, token: string | null): TestCaller['request'] {
  return (target, { json, ...options } = {}) =>
    fetch(`${url}${target}`, {
      ...options,
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
    });
}

/** Checks what every problem has in common, and returns it. */
export async function expectProblem(response: Response, code: ProblemCode): Promise<ProblemDocument> {
  const text = await response.text();
  const problem = problemDocument.parse(JSON.parse(text));
  expect(problem.code).toBe(code);
  expect(response.status).toBe(problem.status);
  expect(problem.message).toBe(problem.detail);
  expect(problem.type).toMatch(new RegExp(`/errores/${code}$`));
  expect(problem.request_id).toBe(response.headers.get('x-request-id'));
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('etag')).toBeNull();
  if (problem.status === 401) expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
  if (problem.status === 503) expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  return problem;
}

/** Raises the plans' limits, so that suites about something else do not reach them. */
export async function liftLimits(pool: Pool): Promise<void> {
  await pool.query('UPDATE plan SET lookups_per_month = 10000000, requests_per_minute = 1000000');
}
