import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type RunningLoop, runLoop } from '../../../../pipelines/consumers/loop.ts';
import { makeLoopMetrics } from '../../../../pipelines/consumers/loop-metrics.ts';
import { makeMaterializeHandler } from '../../../../pipelines/consumers/materialize.ts';
import { materializeGroup } from '../../../../pipelines/stream/groups.ts';
import { checkMaterialised } from '../../../../pipelines/stream/materialised.ts';
import { publishInChild } from '../../../../pipelines/stream/publish.ts';
import { changesTopic } from '../../../../schemas/registers.ts';
import {
  baseline,
  freezeTestEdition,
  makeStreamBench,
  publishParts,
  type StreamBench,
} from '../../../support/stream.ts';

let bench: StreamBench;
let loop: RunningLoop | undefined;
beforeAll(async () => {
  bench = await makeStreamBench(inject('endpoints'));
});
afterAll(async () => {
  await loop?.stop();
  await bench.close();
});

test('a first edition goes from its change file to the state', async () => {
  const changes = baseline(20_000);
  const changeFile = await freezeTestEdition(bench, 1, changes);
  const outcome = await publishInChild(
    publishParts(bench),
    { register: 'padron_reducido', edition: 1, changeFile },
    () => {},
    new AbortController().signal,
  );
  expect(outcome.rows).toBe(20_000);
  expect(outcome.rowsByPartition.reduce((sum, rows) => sum + rows)).toBe(20_000);
  expect(await checkMaterialised(bench, 'padron_reducido', 1)).toBe('not_yet');
  const metrics = new Registry();
  loop = await runLoop({
    kafka: bench.kafka,
    group: materializeGroup(bench.prefix),
    topics: [{ topic: changesTopic(bench.prefix, 'padron_reducido'), register: 'padron_reducido' }],
    knownSchemaIds: new Set([bench.ids.changes]),
    handle: makeMaterializeHandler(bench.clickhouse, metrics),
    log: bench.log,
    metrics: makeLoopMetrics(metrics),
    onFailure: (error) => {
      throw error;
    },
  });
  await expect.poll(() => checkMaterialised(bench, 'padron_reducido', 1), { timeout: 30_000 }).toBe('materialised');
  const result = await bench.clickhouse.query({
    query: 'SELECT ruc, register, version, is_deleted, row FROM taxpayer WHERE ruc = {ruc:UInt64}',
    query_params: { ruc: changes[7]!.ruc },
    format: 'JSONEachRow',
  });
  const rows = await result.json<Record<string, unknown>>();
  expect(JSON.parse(String(rows[0]!.row))).toEqual(Object.values(changes[7]!.after!));
});
