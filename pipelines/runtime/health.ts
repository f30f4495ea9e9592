import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Gauge, type Registry } from 'prom-client';
import { type Lifecycle, within } from './lifecycle.ts';
import { scrape } from './metrics.ts';

/** Returns null when the process is ready for work, otherwise what it waits for. */
type ReadinessCheck = () => Promise<string | null> | string | null;

/** Longest time that a readiness check may take. Supervisors rarely wait longer for /readyz. */
const checkWaitMs = 3_000;

export interface HealthServer {
  port: number;
  /** Sets the check behind /readyz. Until this call /readyz says that the process starts. */
  readyWhen(check: ReadinessCheck): void;
}

/**
 * Serves /healthz, /readyz and /metrics on a port that is not for customers, without secrets or register data. Call it
 * before any engine is connected, so that a process that waits for an engine counts as alive. /readyz fails as soon as
 * the process is asked to stop. The server stops last, so that supervisors can watch the stop.
 * @throws when the port cannot be opened
 */
export async function startHealth(
  lifecycle: Lifecycle,
  metrics: Registry,
  { HEALTH_HOST, HEALTH_PORT }: { HEALTH_HOST: string; HEALTH_PORT: number },
): Promise<HealthServer> {
  let check: ReadinessCheck = () => starting;
  const readiness = async () => {
    if (lifecycle.isStopping) return stopping;
    try {
      return await within(checkWaitMs, Promise.resolve(check()));
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
  new Gauge({
    name: 'padron_ready',
    help: '1 if /readyz would answer 200 now, otherwise 0',
    registers: [metrics],
    async collect() {
      this.set(Number((await readiness()) === null));
    },
  });
  const answer = async (path: string | undefined, response: ServerResponse) => {
    if (path === '/healthz') answerHealth(response, null);
    else if (path === '/readyz') answerHealth(response, await readiness());
    else if (path === '/metrics')
      response.writeHead(200, { 'content-type': metrics.contentType }).end(await scrape(metrics));
    else response.writeHead(404).end();
  };
  const server = createServer((request, response) => {
    answer(pathOf(request), response).catch(() => response.writeHead(500).end());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(HEALTH_PORT, HEALTH_HOST, resolve);
  });
  lifecycle.onStop('health', () => {
    server.close();
    server.closeAllConnections();
  });
  return {
    port: (server.address() as AddressInfo).port,
    readyWhen: (given) => {
      check = given;
    },
  };
}

export const starting = 'the process starts';
export const stopping = 'the process stops';

/** Answers 200 if there is no problem, otherwise 503 with the problem. */
export function answerHealth(response: ServerResponse, problem: string | null): void {
  response
    .writeHead(problem === null ? 200 : 503, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(problem === null ? { status: 'ok' } : { status: 'unavailable', reason: problem }));
}

export function pathOf({ url }: { url?: string | undefined }): string | undefined {
  return url?.split('?', 1)[0];
}
