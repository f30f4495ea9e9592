import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { fileURLToPath } from 'node:url';
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import type { Limits } from '../../../deploy/local/clickhouse/limits.ts';

const repositoryRoot = fileURLToPath(new URL('../../..', import.meta.url));
const startTimeoutMs = 60_000;

export interface ClickhouseProcess {
  /** The address with user, password and database. */
  url: string;
  child: ChildProcess;
  /** Ends the process and returns its exit code, null after SIGKILL. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

/** Starts the embedded ClickHouse process on a data directory and a free port. `limits` replaces some of its limits. */
export async function startClickhouse(data: string, limits: Partial<Limits> = {}): Promise<ClickhouseProcess> {
  const child = spawnClickhouse(['--data', data, '--port', '0', '--limits', JSON.stringify(limits)]);
  let output = '';
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const address = await new Promise<string>((resolve, reject) => {
    const give = (why: string) => reject(new Error(`the ClickHouse process ${why}: ${output}`));
    const timer = setTimeout(() => give('did not start'), startTimeoutMs);
    child.stderr!.on('data', (chunk) => {
      output += chunk;
    });
    child.stdout!.on('data', (chunk) => {
      output += chunk;
      const found = /http:\/\/(127\.0\.0\.1:\d+)/.exec(output);
      if (found) resolve(found[1]!);
    });
    void exited.then((code) => give(`ended with ${code}`)).finally(() => clearTimeout(timer));
  });
  return {
    url: `http://padron:secret@${address}/padron`,
    child,
    end: async (signal) => {
      child.kill(signal);
      return exited;
    },
  };
}

/** Spawns the process with the tests' account. Like the stack, it sets the number of threads in the environment. */
export function spawnClickhouse(
  args: string[],
  environment: Record<string, string> = { UV_THREADPOOL_SIZE: '16' },
): ChildProcess {
  const program = ['--import', 'tsx', 'deploy/local/clickhouse/main.ts'];
  const account = ['--user', 'padron', '--password', 'secret', '--database', 'padron'];
  return spawn(process.execPath, [...program, ...account, ...args], {
    cwd: repositoryRoot,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...environment },
  });
}

/** A client with the product's settings that logs nothing, because these suites provoke failures. */
export function quietClient(url: string, more: Parameters<typeof createClient>[0] = {}): ClickHouseClient {
  return createClient({
    url,
    compression: { request: false, response: false },
    log: { level: ClickHouseLogLevel.OFF },
    max_open_connections: 64,
    request_timeout: 120_000,
    ...more,
  });
}

export interface RawAnswer {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: string;
  /** The connection ended before the body was complete. */
  cut: boolean;
}

/** Sends one request without a client library; `parameters` go into the query string. */
export async function rawRequest(
  url: string,
  parameters: Record<string, string>,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer; path?: string } = {},
): Promise<RawAnswer> {
  const { username, password, host, pathname } = new URL(url);
  const search = new URLSearchParams({ database: pathname.slice(1), ...parameters });
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const request = http.request(`http://${host}${options.path ?? '/'}?${search}`, {
    method: options.method ?? 'POST',
    headers: { authorization, ...options.headers },
    agent: false,
  });
  request.end(options.body);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  let body = '';
  response.setEncoding('utf8').on('data', (chunk) => {
    body += chunk;
  });
  response.on('error', () => undefined);
  await new Promise((resolve) => response.once('close', resolve));
  return { status: response.statusCode!, headers: response.headers, body, cut: !response.complete };
}
