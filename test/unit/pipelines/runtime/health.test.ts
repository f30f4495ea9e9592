import { afterEach, beforeEach, expect, test } from 'vitest';
import { type HealthServer, startHealth } from '../../../../pipelines/runtime/health.ts';
import { Lifecycle } from '../../../../pipelines/runtime/lifecycle.ts';
import { makeMetrics } from '../../../../pipelines/runtime/metrics.ts';
import { silentLog } from '../../../support/watch/harness.ts';

let lifecycle: Lifecycle;
let health: HealthServer;
beforeEach(async () => {
  lifecycle = new Lifecycle(silentLog, 20_000);
  health = await startHealth(lifecycle, makeMetrics('test'), { HEALTH_HOST: '127.0.0.1', HEALTH_PORT: 0 });
});
afterEach(() => lifecycle.stop());

const ask = (path: string) => fetch(`http://127.0.0.1:${health.port}${path}`);
const answerOf = async (path: string) => {
  const response = await ask(path);
  return { status: response.status, ...((await response.json()) as object) };
};

test('a process that starts is alive and not ready', async () => {
  expect(await answerOf('/healthz')).toEqual({ status: 'ok' });
  expect(await answerOf('/readyz')).toEqual({ status: 'unavailable', reason: 'the process starts' });
});

test('/readyz gives the answer of the check, also when the check fails', async () => {
  health.readyWhen(() => null);
  expect((await ask('/readyz?probe=1')).status).toBe(200);
  health.readyWhen(async () => 'the group is not joined yet');
  expect((await ask('/readyz')).status).toBe(503);
  health.readyWhen(() => Promise.reject(new Error('PostgreSQL does not answer')));
  expect(await answerOf('/readyz')).toEqual({ status: 'unavailable', reason: 'PostgreSQL does not answer' });
});

test('the process is not ready before the first component stops, and watched until the last one has', async () => {
  health.readyWhen(() => null);
  const seen: unknown[] = [];
  for (const name of ['started first', 'started last']) {
    lifecycle.onStop(
      name,
      async () => void seen.push([name, (await ask('/healthz')).status, await answerOf('/readyz')]),
    );
  }
  await lifecycle.stop();
  const readiness = { status: 'unavailable', reason: 'the process stops' };
  expect(seen).toEqual([
    ['started last', 200, readiness],
    ['started first', 200, readiness],
  ]);
  await expect(ask('/healthz')).rejects.toThrow();
});

test('it serves metrics and no other path', async () => {
  const metrics = await ask('/metrics');
  expect(metrics.headers.get('content-type')).toContain('text/plain');
  expect(await metrics.text()).toContain('process_cpu_seconds_total{process="test"}');
  expect((await ask('/')).status).toBe(404);
  expect((await ask('/id/v1/ruc/20131312955')).status).toBe(404);
});
