import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Change } from '../../../../pipelines/changes/record.ts';
import { makeLoopMetrics } from '../../../../pipelines/consumers/batch.ts';
import { runLoop } from '../../../../pipelines/consumers/loop.ts';
import { makeShown } from '../../../../pipelines/consumers/wait-for-group.ts';
import { makeWatchHandler, makeWatchMetrics } from '../../../../pipelines/consumers/watch.ts';
import { groupPassed } from '../../../../pipelines/stream/progress.ts';
import { materializeGroup, watchGroup } from '../../../../pipelines/stream/topics.ts';
import { makeLastKnownRows } from '../../../../pipelines/watch/watchers.ts';
import { changesTopic } from '../../../../schemas/registers.ts';
import {
  freezeTestEdition,
  makeStreamHarness,
  produceTestEdition,
  type StreamHarness,
  startMaterialize,
} from '../../../support/engines/stream.ts';

const register = 'agentes_retencion';
const silent = 'sancionados';
let harness: StreamHarness;
let stop: () => Promise<void>;
const woken: string[] = [];
const failures: Error[] = [];

beforeAll(async () => {
  harness = await makeStreamHarness(inject('endpoints'), [register, silent]);
  const materialize = await startMaterialize(harness);
  const watch = await startWatch();
  stop = async () => {
    await watch.stop();
    await materialize.stop();
  };
});
afterAll(async () => {
  await stop();
  await harness.close();
});

/** The watch as its process runs it, but without Temporal: wake-ups are collected. */
function startWatch() {
  const { pool, clickhouse, offsets, prefix, log, kafka, schemas } = harness;
  const metrics = new Registry();
  return runLoop({
    kafka,
    group: watchGroup(prefix),
    topics: harness.registers.map((each) => ({ register: each, topic: changesTopic(prefix, each) })),
    schemas,
    handle: makeWatchHandler({
      pool,
      lastKnownRows: makeLastKnownRows(clickhouse),
      shown: makeShown(offsets, async () => [materializeGroup(prefix)]),
      wake: async (ids) => void woken.push(...ids),
      log,
      metrics: makeWatchMetrics(metrics),
      limits: { holdMs: 30_000, holdPollMs: 50 },
    }),
    log,
    metrics: makeLoopMetrics(metrics),
    onFailure: (error) => failures.push(error),
    limits: { sessionTimeoutMs: 6_000, heartbeatMs: 500 },
  });
}

async function publish(edition: number, changes: readonly Change[], of: typeof register | typeof silent = register) {
  await produceTestEdition(harness, edition, await freezeTestEdition(harness, edition, changes, of), of);
  await expect
    .poll(() => groupPassed(harness, watchGroup(harness.prefix), of, edition), { timeout: 60_000 })
    .toBe(true);
}

const [entering, leaving] = ['20990000019', '20990000027'] as const;
const listed = { nombre: 'EMPRESA', desde: '2026-12-01', resolucion: 'R.S. 1' };
const made = (edition: number, ruc: string, parts: Partial<Change>): Change => ({
  edition,
  op: 'r',
  seq: 0,
  ruc,
  before: null,
  after: null,
  line: 2,
  detectedAt: new Date(),
  corrects: null,
  ...parts,
});

it('a list’s change goes through Kafka to a delivery, and its correction takes an unsent one back', async () => {
  const { rows } = await harness.pool.query<{ list: number }>(
    `WITH account AS (INSERT INTO account (name, plan) VALUES ('Prueba', 'crecimiento') RETURNING id),
       hook AS (INSERT INTO webhook (id, account_id, url, created_at)
         SELECT 'wh_stream', id, 'https://example.com/', now() - interval '1 day' FROM account)
     INSERT INTO watch_list (account_id, nombre, created_at) SELECT id, 'Lista', now() - interval '1 day' FROM account
     RETURNING id AS list`,
  );
  await harness.pool.query(
    `INSERT INTO watch_member (list_id, ruc, added_at) SELECT $1, unnest($2::text[]), now() - interval '1 day'`,
    [rows[0]!.list, [entering, leaving]],
  );
  await publish(1, [made(1, leaving, { after: listed })]);
  await publish(2, [
    made(2, entering, { op: 'c', after: listed }),
    made(2, leaving, { op: 'd', before: listed, after: null }),
  ]);
  expect(await deliveries()).toEqual([
    { ruc: entering, antes: false, despues: true, estado: 'pendiente', corrects: null },
    { ruc: leaving, antes: true, despues: false, estado: 'pendiente', corrects: null },
  ]);
  expect(new Set(woken)).toEqual(new Set(['wh_stream']));
  // One of them has been sent by now.
  await harness.pool.query(
    `UPDATE delivery SET estado = 'entregada', intentos = 1, next_due_at = NULL WHERE ruc = $1`,
    [leaving],
  );
  await publish(3, [
    made(3, entering, { op: 'd', before: listed, after: null, corrects: 2 }),
    made(3, leaving, { op: 'c', after: listed, corrects: 2 }),
  ]);
  expect(await deliveries()).toEqual([
    { ruc: entering, antes: false, despues: true, estado: 'cancelada', corrects: null },
    { ruc: leaving, antes: true, despues: false, estado: 'entregada', corrects: null },
    { ruc: leaving, antes: false, despues: true, estado: 'pendiente', corrects: 2 },
  ]);
  // A register without events is read all the same, because its editions must become `avisada` too.
  await publish(1, [made(1, 'AB-901/7', { after: { tipo_id: 'documento', sanciones: '[]' } })], silent);
  expect(failures).toEqual([]);
});

async function deliveries() {
  const { rows } = await harness.pool.query<{ ruc: string; estado: string; payload: string }>(
    `SELECT d.ruc, d.estado, e.payload FROM delivery d JOIN event e ON e.day = d.day AND e.id = d.event_id ORDER BY d.position`,
  );
  return rows.map(({ ruc, estado, payload }) => {
    const { datos, correccion } = JSON.parse(payload);
    return { ruc, antes: datos.antes, despues: datos.despues, estado, corrects: correccion?.edicion ?? null };
  });
}
