import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from './engine.ts';

const lookAgainMs = 20;

/**
 * Takes no new request, lets running queries end, kills them after drainTimeoutMs, and closes the engine. Answers false when
 * a query would not end even so: then the engine must not be closed (it would abort) and the process just ends, which costs
 * nothing that was acknowledged.
 */
export async function stop(server: Server, engine: Engine): Promise<boolean> {
  const { drainTimeoutMs } = engine.limits;
  const { runs } = engine;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const drained = await within(drainTimeoutMs, () => runs.running.size === 0);
  if (!drained) {
    for (const run of runs.running) void runs.kill(run);
    if (!(await within(drainTimeoutMs, () => runs.running.size === 0))) return false;
  }
  // Answers that are being written may end; a connection that is only kept alive, or uploads, does not hold us up.
  await Promise.race([closed, sleep(drained ? 1_000 : 0)]);
  server.closeAllConnections();
  await within(drainTimeoutMs, () => runs.running.size === 0);
  engine.close();
  return true;
}

async function within(timeoutMs: number, done: () => boolean): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!done() && Date.now() < deadline) await sleep(lookAgainMs);
  return done();
}
