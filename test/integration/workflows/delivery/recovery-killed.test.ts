import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import type { PoolClient } from '../../../../pipelines/runtime/postgres.ts';
import { resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { defaultRecoveryLimits } from '../../../../pipelines/webhooks/recoveries.ts';
import { createdRecoveryAnswer, recoveryAnswer } from '../../../../schemas/http/deliveries.ts';
import { makeCaller, type RunningApi, requestsOf, startApi } from '../../../support/api/process.ts';
import { type DeliveryHarness, makeDeliveryHarness } from '../../../support/delivery/harness.ts';
import { type ProgrammedReceiver, startProgrammedReceiver } from '../../../support/delivery/receiver.ts';
import { holdDeliveries } from '../../../support/delivery/work.ts';

// The API works off recoveries. It is killed inside the first and a later chunk, while a worker sends what is due.

const { chunkRows } = defaultRecoveryLimits;
const count = 1.2 * chunkRows;
const attemptsBefore = 10;

let harness: DeliveryHarness;
let receiver: ProgrammedReceiver;
let stopWorker: () => Promise<void>;
let running: RunningApi | null = null;
let holding: PoolClient | null = null;

beforeAll(async () => {
  harness = await makeDeliveryHarness(inject('endpoints'));
  receiver = await startProgrammedReceiver(harness.authority);
  stopWorker = await harness.startWorker();
});
afterEach(async () => {
  holding?.release(true);
  await running?.stop();
});
afterAll(async () => {
  await stopWorker?.();
  await receiver?.close();
  await harness?.close();
});

async function startAnotherApi(): Promise<RunningApi> {
  const { CLICKHOUSE_URL, TEMPORAL_ADDRESS } = inject('endpoints');
  running = await startApi({
    DATABASE_URL: harness.databaseUrl,
    CLICKHOUSE_URL,
    TEMPORAL_ADDRESS,
    TEMPORAL_NAMESPACE: harness.namespace,
  });
  return running;
}

/** A webhook whose deliveries have all ended their retries. */
async function insertExhausted(account: number, path: string): Promise<string> {
  const { id } = await harness.webhook(account, receiver.origin + path, { inFlight: 50 });
  await holdDeliveries(harness, [{ id, account }], count);
  await harness.pool.query(
    `UPDATE delivery SET estado = 'agotada', intentos = $2, fallos_del_ciclo = $2, finished_at = now() WHERE webhook_id = $1`,
    [id, attemptsBefore],
  );
  await resumeWebhook(harness.pool, id);
  return id;
}

/** Locks one delivery, so that its chunk stops in the middle of its update. */
async function holdNth(webhook: string, position: number): Promise<void> {
  holding = await harness.pool.connect();
  await holding.query('BEGIN');
  const { rowCount } = await holding.query(
    `SELECT 1 FROM delivery WHERE (day, id) = (
       SELECT day, id FROM delivery WHERE webhook_id = $1 ORDER BY created_at, id OFFSET $2 LIMIT 1) FOR UPDATE`,
    [webhook, position],
  );
  expect(rowCount).toBe(1);
}

const sessionsOfApi = async (condition: string) => {
  const { rows } = await harness.pool.query<{ count: number }>(
    `SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'padron-api' AND ${condition}`,
  );
  return rows[0]!.count;
};

/** Kills the process while its chunk waits for the locked delivery, and returns when its transaction has ended. */
async function killInsideChunk(api: RunningApi): Promise<void> {
  const waits = `wait_event_type = 'Lock' AND query LIKE 'UPDATE delivery SET%'`;
  await expect.poll(() => sessionsOfApi(waits), { timeout: 60_000 }).toBe(1);
  process.kill(api.pid, 'SIGKILL');
  running = null;
  // The dead process's statement goes on until the server wants to answer. Then it is rolled back.
  holding!.release(true);
  holding = null;
  await expect.poll(() => sessionsOfApi('true'), { timeout: 60_000 }).toBe(0);
}

const progressOf = async (webhook: string, id: string) =>
  (
    await harness.pool.query<{ estado: string; resent: number; left: number }>(
      `SELECT r.estado, r.resent, (SELECT count(*) FROM delivery WHERE webhook_id = $1 AND estado = 'agotada') AS left
       FROM recovery r WHERE r.id = $2`,
      [webhook, id],
    )
  ).rows[0];

it('after two kills inside a chunk the next process goes on, and every delivery is made due once and arrives', {
  timeout: 300_000,
}, async () => {
  const first = await startAnotherApi();
  const caller = await makeCaller(harness.pool, first.url);
  const webhook = await insertExhausted(caller.accountId, '/recovered');
  const path = `/id/v1/watch/webhooks/${webhook}/recuperaciones`;
  await holdNth(webhook, 0.5 * chunkRows);
  const asked = await caller.request(path, { method: 'POST', json: { desde: '2026-01-01T00:00:00Z' } });
  const { id, total } = createdRecoveryAnswer.parse(await asked.json()).data;
  expect(total).toBe(count);
  await killInsideChunk(first);
  expect(await progressOf(webhook, id)).toEqual({ estado: 'en_curso', resent: 0, left: count });

  await holdNth(webhook, 1.1 * chunkRows);
  await killInsideChunk(await startAnotherApi());
  expect(await progressOf(webhook, id)).toEqual({ estado: 'en_curso', resent: chunkRows, left: count - chunkRows });

  const last = await startAnotherApi();
  const request = requestsOf(last.url, caller.token);
  const shown = async () => recoveryAnswer.parse(await (await request(`${path}/${id}`)).json()).data;
  await expect.poll(async () => (await shown()).estado, { timeout: 60_000 }).toBe('terminada');
  expect(await shown()).toMatchObject({ total: count, reenviadas: count, omitidas: 0 });
  await harness.eventually(async () => {
    const open = (await harness.deliveries(webhook)).filter(({ estado }) => estado !== 'entregada');
    expect(open).toHaveLength(0);
  }, 60_000);

  const arrivals = receiver.notices.map(({ deliveryId }) => deliveryId);
  expect(new Set(arrivals).size).toBe(count);
  const { rows } = await harness.pool.query<{ accepted: number; others: number }>(
    'SELECT count(*) FILTER (WHERE failure IS NULL) AS accepted, count(failure) AS others FROM attempt',
  );
  // A delivery made due twice would be accepted twice. It may arrive twice if its first result was not recorded.
  expect(rows[0]!.accepted).toBe(count);
  expect(arrivals.length).toBeLessThanOrEqual(count + rows[0]!.others);
});
