import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { makeWatchHarness, type WatchHarness } from '../../../support/watch/harness.ts';

const tables = ['event', 'delivery', 'attempt'] as const;
let harness: WatchHarness;
beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());

const makeDay = (day: string) => harness.pool.query('SELECT ensure_event_day($1)', [day]);

/** The definition of an index without its name and its table's name. */
async function indexesOf(table: string): Promise<string[]> {
  const { rows } = await harness.pool.query<{ definition: string }>(
    `SELECT regexp_replace(pg_get_indexdef(indexrelid), 'INDEX .* USING', 'INDEX USING') AS definition
     FROM pg_index WHERE indrelid = $1::regclass ORDER BY 1`,
    [table],
  );
  return rows.map(({ definition }) => definition);
}

it('a new day waits for nobody and blocks nobody: rounds, readers and writers go on', async () => {
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
    await maker.query("SELECT ensure_event_day('2026-11-27')");
    for (const table of tables) await worker.query(`SELECT count(*) FROM ${table}`);
    await worker.query("UPDATE event SET evento = '' WHERE day = '2026-11-26'");
    for (const each of [worker, maker]) await each.query('COMMIT');
  } finally {
    for (const each of [worker, maker]) each.release(true);
  }
});

it('several callers at once make a day once, with the indexes of its parents and no more', async () => {
  // These sessions looked for the day before it was made. What they found then must not mislead them.
  const days = Array.from({ length: 29 }, (_, index) => `2028-02-${String(index + 1).padStart(2, '0')}`);
  for (const day of days) await Promise.all(Array.from({ length: 8 }, () => makeDay(day)));
  for (const table of tables) {
    expect(await indexesOf(`${table}_20280229`)).toEqual(await indexesOf(table));
    const { rows } = await harness.pool.query(
      `SELECT pg_get_expr(relpartbound, oid) AS bound FROM pg_class WHERE oid = $1::regclass`,
      [`${table}_20280229`],
    );
    expect(rows).toEqual([{ bound: "FOR VALUES FROM ('2028-02-29') TO ('2028-03-01')" }]);
  }
});
