import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import type { PoolClient } from '../../../../pipelines/runtime/postgres.ts';
import { makeWatchHarness, type WatchHarness } from '../../../support/watch/harness.ts';
import { makeSingleDays, partitionsOf } from '../../../support/watch/single-days.ts';

const tables = ['event', 'delivery', 'attempt'] as const;
let harness: WatchHarness;
beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());
afterEach(async () => {
  await harness.pool.query(`DO $$ DECLARE parent text; name text; BEGIN
    FOREACH parent IN ARRAY ARRAY['event', 'delivery', 'attempt'] LOOP
      FOR name IN SELECT partition_name FROM event_partitions(parent) LOOP EXECUTE 'DROP TABLE ' || name; END LOOP;
    END LOOP; END $$`);
});

const makeDay = (day: string) => harness.pool.query('SELECT ensure_event_day($1)', [day]);

/** Runs `work` on a connection of its own. */
async function onClient(work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await harness.pool.connect();
  await work(client).finally(() => client.release(true));
}

/** The definition of an index without its name and its table's name. */
async function indexesOf(table: string): Promise<string[]> {
  const { rows } = await harness.pool.query<{ definition: string }>(
    `SELECT regexp_replace(pg_get_indexdef(indexrelid), 'INDEX .* USING', 'INDEX USING') AS definition
     FROM pg_index WHERE indrelid = $1::regclass ORDER BY 1`,
    [table],
  );
  return rows.map(({ definition }) => definition);
}

it('a new month waits for nobody and blocks nobody: rounds, readers and writers go on', async () => {
  await makeDay('2026-11-26');
  const [worker, maker] = await Promise.all([harness.pool.connect(), harness.pool.connect()]);
  try {
    for (const each of [worker, maker]) {
      await each.query('BEGIN');
      await each.query("SET LOCAL lock_timeout = '2s'");
    }
    await worker.query("UPDATE delivery SET intentos = 1 WHERE day = '2026-11-26'");
    await worker.query("DELETE FROM attempt WHERE day = '2026-11-26'");
    await worker.query('SELECT count(*) FROM event');
    await maker.query("SELECT ensure_event_day('2026-12-01')");
    for (const table of tables) await worker.query(`SELECT count(*) FROM ${table}`);
    await worker.query("UPDATE event SET evento = '' WHERE day = '2026-11-26'");
    for (const each of [worker, maker]) await each.query('COMMIT');
  } finally {
    for (const each of [worker, maker]) each.release(true);
  }
});

it('several callers at once make a month once, with the indexes of its parents and no more', async () => {
  // These sessions looked for the day before it was made. What they found then must not mislead them.
  const days = ['2028-02-29', '2027-12-31', '2028-03-01', '2028-01-15'];
  for (const day of days) await Promise.all(Array.from({ length: 8 }, () => makeDay(day)));
  for (const table of tables) {
    expect(await indexesOf(`${table}_2028_02_01`)).toEqual(await indexesOf(table));
    expect(await partitionsOf(harness.pool, table)).toEqual([
      '2027-12-01 2027-12-31',
      '2028-01-01 2028-01-31',
      '2028-02-01 2028-02-29',
      '2028-03-01 2028-03-31',
    ]);
  }
});

it('days that an earlier release made stay, and a partition takes the rest of the month between them', async () => {
  await onClient((client) => makeSingleDays(client, ['2026-10-31', '2026-11-03', '2026-11-04', '2026-11-10']));
  // Whatever the session's form of dates is, the bounds of partitions are read right.
  await onClient(async (client) => {
    await client.query("SET datestyle = 'SQL, DMY'");
    for (const day of ['2026-11-04', '2026-11-11', '2026-11-05', '2026-11-30', '2026-11-01', '2026-10-02'])
      await client.query('SELECT ensure_event_day($1)', [day]);
  });
  for (const table of tables) {
    expect(await partitionsOf(harness.pool, table)).toEqual([
      '2026-10-01 2026-10-30',
      '2026-10-31 2026-10-31',
      '2026-11-01 2026-11-02',
      '2026-11-03 2026-11-03',
      '2026-11-04 2026-11-04',
      '2026-11-05 2026-11-09',
      '2026-11-10 2026-11-10',
      '2026-11-11 2026-11-30',
    ]);
  }
});

it('a caller that dies leaves nothing of a month, and the next makes it whole', async () => {
  await onClient(async (client) => {
    await client.query('BEGIN');
    await client.query("SELECT ensure_event_day('2026-11-26')");
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    client.on('error', () => {});
    await harness.pool.query('SELECT pg_terminate_backend($1, 5000)', [rows[0].pid]);
  });
  for (const table of tables) expect(await partitionsOf(harness.pool, table)).toEqual([]);
  await makeDay('2026-11-26');
  for (const table of tables) expect(await partitionsOf(harness.pool, table)).toEqual(['2026-11-01 2026-11-30']);
});
