import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Registry } from 'prom-client';

export interface Health {
  /** Returns null when alive, otherwise what is wrong. A process that is not alive is restarted by its supervisor. */
  alive: () => string | null;
  /** Returns null when ready for work; otherwise what the process waits for. */
  ready: () => Promise<string | null> | string | null;
  metrics: Registry;
}

/** Answers /healthz, /readyz and /metrics, without secrets or register data. Returns false for any other path. */
export async function answerHealth(
  health: Health,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const path = request.url?.split('?', 1)[0];
  if (path === '/metrics') {
    response.writeHead(200, { 'content-type': health.metrics.contentType }).end(await health.metrics.metrics());
    return true;
  }
  if (path !== '/healthz' && path !== '/readyz') return false;
  const problem = path === '/healthz' ? health.alive() : await readiness(health);
  response
    .writeHead(problem === null ? 200 : 503, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(problem === null ? { status: 'ok' } : { status: 'unavailable', reason: problem }));
  return true;
}

async function readiness(health: Health): Promise<string | null> {
  const problem = health.alive();
  if (problem !== null) return problem;
  try {
    return await health.ready();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Starts an HTTP server that serves only the paths of `answerHealth`. Resolves with the server and its port. */
export async function serveHealth(
  health: Health,
  host: string,
  port: number,
): Promise<{ server: Server; port: number }> {
  const server = createServer((request, response) => {
    answerHealth(health, request, response).then(
      (answered) => answered || response.writeHead(404).end(),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return { server, port: (server.address() as AddressInfo).port };
}

/**
 * Makes a process's registry of metrics. Callers pass it on, because there is no global registry. Names of our own
 * metrics start with `padron_`.
 */
export function makeMetrics(process: string): Registry {
  const metrics = new Registry();
  metrics.setDefaultLabels({ process });
  collectDefaultMetrics({ register: metrics });
  return metrics;
}
