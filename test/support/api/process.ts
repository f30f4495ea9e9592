import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect } from 'vitest';
import { type Account, createAccount } from '../../../api/accounts/accounts.ts';
import { createToken } from '../../../api/accounts/tokens.ts';
import { repositoryRoot } from '../../../deploy/local/config.ts';
import type { Pool } from '../../../pipelines/runtime/postgres.ts';
import { type ProblemCode, type ProblemDocument, problemDocument } from '../../../schemas/http/problem.ts';

/** The real API process with its log. */
export interface RunningApi {
  url: string;
  /** Address of /readyz and /metrics. */
  healthUrl: string;
  pid: number;
  /** Everything that it wrote to stdout and stderr so far. */
  output(): string;
  stop(): Promise<void>;
}

/** @param preloads modules that the process loads before its own code */
export async function startApi(
  environment: Record<string, string>,
  preloads: readonly string[] = [],
): Promise<RunningApi> {
  const imports = ['tsx', ...preloads].flatMap((each) => ['--import', each]);
  const child = spawn(process.execPath, [...imports, path.join('api', 'main.ts')], {
    cwd: repositoryRoot,
    env: { PATH: process.env.PATH ?? '', ...apiSecrets, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const [port, healthPort] = await new Promise<[string, string]>((resolve, reject) => {
    let found = false;
    const keep = (chunk: Buffer) => {
      output += chunk;
      // Searching the growing text at every chunk would cost a bench more than its calls.
      if (found) return;
      const listening = /"port":(\d+),"healthPort":(\d+),"msg":"listening"/.exec(output);
      found = listening !== null;
      if (listening) resolve([listening[1]!, listening[2]!]);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.once('close', (code) => reject(new Error(`the api ended with ${code}:\n${output}`)));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    healthUrl: `http://127.0.0.1:${healthPort}`,
    pid: child.pid!,
    output: () => output,
    stop: () => stop(child),
  };
}

/** Keys for tests only. */
export const apiSecrets = {
  AUDIT_HMAC_KEY: 'audit key of the tests, at least 32 characters',
  WEBHOOK_SECRET_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
};

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'close');
}

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
