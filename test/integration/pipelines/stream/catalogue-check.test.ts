import { expect, test } from 'vitest';
import type { ClickHouseClient } from '../../../../pipelines/runtime/clickhouse.ts';
import { compareCatalogue } from '../../../../pipelines/stream/catalogue-check.ts';
import { takeProduced } from '../../../../pipelines/stream/produce.ts';
import {
  checkMaterialised,
  countAtVersion,
  hasVersionFrom,
  versionAbove,
} from '../../../../pipelines/stream/progress.ts';
import { changesTopic, editionsTopic, registerNames } from '../../../../schemas/registers.ts';
import {
  baseline,
  freezeTestEdition,
  nextDay,
  produceDependencies,
  produceTestEdition,
  startMaterialize,
  streamHarnesses,
} from '../../../support/engines/stream.ts';

// The catalogue is compared with Kafka and ClickHouse, and takes over what Kafka has.
const register = 'padron_reducido';
const newHarness = streamHarnesses();
const sync = { mutations_sync: '2' } as const;

test('an edition whose record is in Kafka is noted as produced, and is not produced again', async () => {
  const harness = await newHarness();
  const dependencies = produceDependencies(harness);
  const first = baseline(300);
  const second = nextDay(first, 2);
  const files = [await freezeTestEdition(harness, 1, first), await freezeTestEdition(harness, 2, second)];
  const taken = (edition: number) => takeProduced(dependencies, { register, edition, changeFile: files[edition - 1]! });
  expect(await taken(1)).toBe(false);
  for (const edition of [1, 2]) await produceTestEdition(harness, edition, files[edition - 1]!);
  const rows = async () => {
    const noted = 'SELECT * FROM edition_partition ORDER BY edition, partition';
    const numbers = 'SELECT number, publicada_at IS NOT NULL AS published, stream_end FROM edition ORDER BY number';
    return [(await harness.pool.query(noted)).rows, (await harness.pool.query(numbers)).rows];
  };
  const [before, ends] = [await rows(), await harness.offsets.ends(changesTopic(harness.prefix, register))];
  expect(before[1]).toEqual([
    { number: 1, published: true, stream_end: 1 },
    { number: 2, published: true, stream_end: 2 },
  ]);
  // This is what a restored catalogue has after `padron editions adopt`.
  await harness.pool.query('DELETE FROM edition_partition');
  await harness.pool.query('UPDATE edition SET publicada_at = NULL, stream_end = NULL');
  expect([await taken(2), await taken(1)]).toEqual([true, true]);
  expect(await rows()).toEqual(before);
  expect(await harness.offsets.ends(changesTopic(harness.prefix, register))).toEqual(ends);
  // A later edition has replaced rows of edition 1, so edition 1 is counted in the history.
  const loop = await startMaterialize(harness);
  await expect.poll(() => checkMaterialised(harness, register, 2), { timeout: 60_000 }).toBe('materialised');
  await harness.pool.query(`UPDATE edition SET counts = '{"baseline": 300}' WHERE number = 1`);
  expect(await checkMaterialised(harness, register, 1)).toBe('materialised');
  await loop.stop();
  // Another content under the same number is not this edition.
  await harness.pool.query(`UPDATE edition SET change_file_sha256 = 'another', publicada_at = NULL WHERE number = 2`);
  expect(await taken(2)).toBe(false);
});

test('what Kafka or ClickHouse has beyond the catalogue is found, complete or not', async () => {
  const harness = await newHarness();
  const check = () => compareCatalogue({ ...harness, servers: [harness] }, register, 'all');
  await produceTestEdition(harness, 1, await freezeTestEdition(harness, 1, baseline(300)));
  await harness.pool.query('UPDATE register_head SET edition = 1');
  expect(await check()).toEqual({ edition: 1, newest: 1, records: [], problem: null });
  const forget = (number: number) =>
    harness.pool.query(
      `WITH parts AS (DELETE FROM edition_partition WHERE edition >= ${number}) DELETE FROM edition WHERE number >= ${number}`,
    );
  await produceTestEdition(harness, 2, await freezeTestEdition(harness, 2, nextDay(baseline(300), 2)));
  await harness.pool.query('UPDATE register_head SET edition = 2');
  expect((await check()).problem).toBeNull();
  await forget(2);
  await harness.pool.query('UPDATE register_head SET edition = 1');
  expect(await check()).toMatchObject({
    newest: 2,
    records: [{ edition: 2 }],
    problem: expect.stringMatching(/^stream_ahead: /),
  });

  // The producer died before it wrote the edition's record, and ClickHouse has not read the records yet.
  const [changes, editions] = [changesTopic(harness.prefix, register), editionsTopic(harness.prefix, register)];
  await harness.pool.query('UPDATE edition SET stream_end = 2');
  expect(await check()).toMatchObject({ newest: 2, records: [], problem: expect.stringMatching(/^stream_ahead: /) });
  expect((await harness.offsets.ends(editions))[0]).toBe(2);
  // ClickHouse has rows of an edition that Kafka lost.
  await harness.pool.query(
    `UPDATE edition_partition SET end_offset = log_end FROM unnest($1::bigint[]) WITH ORDINALITY AS log (log_end, place)
     WHERE place = partition + 1`,
    [await harness.offsets.ends(changes)],
  );
  expect((await check()).problem).toBeNull();
  const loop = await startMaterialize(harness);
  await expect.poll(async () => (await check()).newest, { timeout: 60_000 }).toBe(2);
  await loop.stop();
  expect((await check()).problem).toMatch(/^stream_ahead: .* has edition 2 of padron_reducido, .* ends at 1/);

  // Rows of any replica count, and each replica must have what is served.
  const empty = await newHarness();
  const servers = [
    { clickhouse: empty.clickhouse, replica: 'a' },
    { clickhouse: harness.clickhouse, replica: 'b' },
  ];
  const checkBoth = () => compareCatalogue({ ...harness, servers }, register, 'all');
  expect(await checkBoth()).toMatchObject({ newest: 2, problem: expect.stringMatching(/^stream_ahead: /) });
  await harness.clickhouse.command({
    query: 'ALTER TABLE taxpayer DELETE WHERE version = 2',
    clickhouse_settings: sync,
  });
  expect((await checkBoth()).problem).toBeNull();
  await harness.pool.query('UPDATE edition SET materializada_at = now() WHERE number = 1');
  expect((await checkBoth()).problem).toMatch(/^clickhouse_behind: .* at edition 0 .* --replica a` has made it$/);
  expect((await check()).problem).toBeNull();
});

test("a register's rows of an edition are found by an index, without reading all rows", async () => {
  const { clickhouse } = await newHarness();
  // The rows of all registers lie beside one another. Only the last rows are of a later edition.
  await clickhouse.command({
    query: `INSERT INTO taxpayer SELECT number, 1 + number % 7, if(number < 39990, 5, 100), 0, '' FROM numbers(40000)`,
  });
  const planOf = async (ask: (client: ClickHouseClient) => Promise<unknown>) => {
    let plan = '';
    const explaining = {
      query: async ({ query, query_params = {} }: { query: string; query_params?: Record<string, unknown> }) => {
        const format = 'TabSeparatedRaw';
        const answer = await clickhouse.query({ query: `EXPLAIN indexes = 1 ${query}`, query_params, format });
        plan = await answer.text();
        return { json: async () => [{ found: '0' }] };
      },
    };
    await ask(explaining as unknown as ClickHouseClient);
    return plan;
  };
  for (const name of registerNames) {
    for (const ask of [versionAbove, hasVersionFrom, countAtVersion]) {
      const plan = await planOf((client) => ask(client, name, 50));
      const [, read, all] = /Name: edition_index\n(?:.*\n)*?.*Granules: (\d+)\/(\d+)/.exec(plan) ?? [plan];
      expect(Number(all), `${name}: ${plan}`).toBeGreaterThan(300);
      expect(Number(read)).toBeLessThanOrEqual(8);
    }
  }
});
