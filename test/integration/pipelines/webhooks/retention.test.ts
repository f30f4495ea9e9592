import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { inTransaction, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { claimDeliveries } from '../../../../pipelines/webhooks/claim.ts';
import { resendDelivery } from '../../../../pipelines/webhooks/resend.ts';
import { oldestCursor, removeExpired } from '../../../../pipelines/webhooks/retention.ts';
import { makeWatchHarness, type WatchHarness } from '../../../support/watch/harness.ts';
import { makeSingleDays, partitionsOf } from '../../../support/watch/single-days.ts';

const rule = { eventMonths: 13, attemptDays: 90, heldDays: 30 };
const nothing = { days: [], keptDays: [], attemptDays: [], notices: 0, discarded: 0 };
let harness: WatchHarness;

beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());
afterEach(async () => {
  await harness.pool.query(`DO $$ DECLARE t text; BEGIN
    FOR t IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent IN ('event'::regclass, 'delivery'::regclass, 'attempt'::regclass)
    LOOP EXECUTE 'DROP TABLE ' || t; END LOOP; END $$`);
});

/** The day so many days ago in Lima. */
const dayAgo = async (interval: string): Promise<string> =>
  (await harness.pool.query(`SELECT (now() AT TIME ZONE 'America/Lima' - $1::interval)::date AS day`, [interval]))
    .rows[0].day;

let position = 0;
/** An event of the day with a delivery in the state and one attempt, started on that day or `attemptAgo` ago. */
async function eventOf(
  account: number,
  webhook: string,
  day: string,
  estado: string,
  attemptAgo?: string,
): Promise<number> {
  position += 1;
  await harness.pool.query('SELECT ensure_event_day($1)', [day]);
  await harness.pool.query(
    `INSERT INTO event (day, id, account_id, position, list_id, evento, register, edition, ruc, fecha_dato, ocurrido_en, payload)
     VALUES ($1::date, $2, $3, $4, 1, 'ruc.baja', 'padron_reducido', 1, '20990000019', $1::date, $1::date, '{}')`,
    [day, `ev_${position}`, account, position],
  );
  await harness.pool.query(
    `INSERT INTO delivery (day, id, event_id, webhook_id, account_id, ruc, position, estado, intentos, next_due_at)
     VALUES ($1, $2, $3, $4, $5, '20990000019', $6, $7, 1, CASE WHEN $7 = 'pendiente' THEN now() END)`,
    [day, `dl_${position}`, `ev_${position}`, webhook, account, position, estado],
  );
  await harness.pool.query(
    `INSERT INTO attempt (day, delivery_id, number, started_at) VALUES ($1::date, $2, 1, coalesce(now() - $3::interval, $1::date))`,
    [day, `dl_${position}`, attemptAgo],
  );
  await harness.pool.query(
    `INSERT INTO account_position (account_id, last_position) VALUES ($1, $2)
     ON CONFLICT (account_id) DO UPDATE SET last_position = $2`,
    [account, position],
  );
  return position;
}

const left = async (table: 'event' | 'delivery' | 'attempt') =>
  (await harness.pool.query(`SELECT count(*)::integer AS n FROM ${table}`)).rows[0].n;

async function subscriber(): Promise<{ account: number; webhook: string }> {
  const account = await harness.account();
  return { account, webhook: (await harness.webhook(account, 'https://example.com/')).id };
}

it('days older than 13 months are removed completely, and a cursor from before them is known to be too old', async () => {
  const { account, webhook } = await subscriber();
  const [gone, last] = [await dayAgo('13 months 1 day'), await dayAgo('13 months')];
  const removedThrough = await eventOf(account, webhook, gone, 'entregada');
  await eventOf(account, webhook, last, 'agotada');
  expect(await oldestCursor(harness.pool, account)).toBe(0);
  expect(await removeExpired(harness.pool, rule)).toMatchObject({ days: [gone], keptDays: [] });
  expect([await left('event'), await left('delivery')]).toEqual([1, 1]);
  expect(await oldestCursor(harness.pool, account)).toBe(removedThrough);
  expect(await oldestCursor(harness.pool, account + 1)).toBe(0);
  expect(await removeExpired(harness.pool, rule)).toEqual(nothing);
});

it.each(['retenida', 'pendiente', 'en_curso'])(
  'a delivery that is %s stays with its event; the rest of its day is removed',
  async (estado) => {
    const { account, webhook } = await subscriber();
    const day = await dayAgo('14 months');
    const kept = await eventOf(account, webhook, day, estado);
    const gone = await eventOf(account, webhook, day, 'entregada');
    expect(await removeExpired(harness.pool, rule)).toMatchObject({ days: [], keptDays: [day] });
    expect((await harness.pool.query('SELECT position FROM event')).rows).toEqual([{ position: kept }]);
    expect((await harness.pool.query('SELECT id FROM delivery')).rows).toEqual([{ id: `dl_${kept}` }]);
    expect(await oldestCursor(harness.pool, account)).toBe(gone);
    await harness.pool.query(`UPDATE delivery SET estado = 'cancelada'`);
    expect(await removeExpired(harness.pool, rule)).toMatchObject({ days: [day] });
  },
);

it('partitions of single days and of months side by side: exactly the expired days go, and each table with its last day', async () => {
  const { account, webhook } = await subscriber();
  const [last, next] = [await dayAgo('13 months'), await dayAgo('12 months 29 days')];
  const single = [await dayAgo('15 months'), await dayAgo('13 months 2 days'), last];
  const held = await dayAgo('14 months 2 days');
  const ofMonths = [await dayAgo('16 months'), await dayAgo('14 months'), await dayAgo('13 months 1 day')];
  await inTransaction(harness.pool, (client) => makeSingleDays(client, [...single, held]));
  const kept = await eventOf(account, webhook, held, 'retenida');
  for (const day of [...single, held, ...ofMonths, next]) await eventOf(account, webhook, day, 'entregada');
  const gone = [...single.slice(0, 2), ...ofMonths].sort();
  expect(await removeExpired(harness.pool, rule)).toMatchObject({ days: gone, keptDays: [held] });
  const days = (await harness.pool.query('SELECT day FROM event ORDER BY day')).rows.map(({ day }) => day);
  expect(days).toEqual([held, last, next]);
  expect((await harness.pool.query('SELECT min(position) AS first FROM delivery')).rows).toEqual([{ first: kept }]);
  for (const table of ['event', 'delivery', 'attempt'] as const) {
    const partitions = await partitionsOf(harness.pool, table);
    expect(partitions).toContain(`${held} ${held}`);
    expect(partitions).toContain(`${last} ${last}`);
    // What is left covers a day that has not expired, or the held delivery's.
    for (const partition of partitions) {
      const end = partition.split(' ')[1]!;
      expect(end === held || end >= last, partition).toBe(true);
    }
  }
  await harness.pool.query(`UPDATE delivery SET estado = 'cancelada'`);
  expect(await removeExpired(harness.pool, rule)).toMatchObject({ days: [held], keptDays: [] });
  expect(await partitionsOf(harness.pool, 'event')).not.toContain(`${held} ${held}`);
});

it('a day of more rows than one transaction removes is gone after one run', async () => {
  const { account, webhook } = await subscriber();
  const day = await dayAgo('14 months');
  const first = await eventOf(account, webhook, day, 'entregada');
  const more = 20_000;
  for (const copy of [
    `INSERT INTO event SELECT day, id || '_' || n, account_id, position + n, list_id, evento, register, edition, ruc,
       fecha_dato, ocurrido_en, payload FROM event, generate_series(1, $1::int) AS n`,
    `INSERT INTO delivery (day, id, event_id, webhook_id, account_id, ruc, position, estado)
       SELECT day, id || '_' || n, event_id || '_' || n, webhook_id, account_id, ruc, position + n, estado
       FROM delivery, generate_series(1, $1::int) AS n`,
    `INSERT INTO attempt (day, delivery_id, number, started_at)
       SELECT day, delivery_id || '_' || n, 1, started_at FROM attempt, generate_series(1, $1::int) AS n`,
  ])
    await harness.pool.query(copy, [more]);
  expect(await removeExpired(harness.pool, rule)).toMatchObject({ days: [day], keptDays: [] });
  expect([await left('event'), await left('delivery'), await left('attempt')]).toEqual([0, 0, 0]);
  expect(await oldestCursor(harness.pool, account)).toBe(first + more);
});

it('an attempt is removed after 90 days; a later one of its day stays, and a held delivery can still be sent', async () => {
  const { account, webhook } = await subscriber();
  const [old, late] = [await dayAgo('91 days'), await dayAgo('92 days')];
  await eventOf(account, webhook, old, 'pendiente');
  const sentAgain = await eventOf(account, webhook, late, 'entregada');
  await harness.pool.query(
    `INSERT INTO attempt (day, delivery_id, number, started_at) VALUES ($1, $2, 2, now() - interval '89 days')`,
    [late, `dl_${sentAgain}`],
  );
  expect(await removeExpired(harness.pool, rule)).toMatchObject({ attemptDays: [late, old] });
  expect((await harness.pool.query('SELECT day, number FROM attempt')).rows).toEqual([{ day: late, number: 2 }]);
  await harness.pool.query(
    `INSERT INTO webhook_work (webhook_id, open_since) VALUES ($1, $2) ON CONFLICT (webhook_id) DO UPDATE SET open_since = $2`,
    [webhook, late],
  );
  const claim = await claimDeliveries(harness.pool, webhook, { deliveryLeaseMs: 60_000, workLeaseMs: 60_000 }, () => 1);
  expect(claim.deliveries).toMatchObject([{ day: old, attempt: 2 }]);
});

it('a delivery that is removed while somebody sends it again by hand is not found', async () => {
  const { account, webhook } = await subscriber();
  const day = await dayAgo('14 months');
  const sent = await eventOf(account, webhook, day, 'entregada');
  const meanwhile = {
    query: harness.pool.query.bind(harness.pool),
    connect: async () => {
      const client = await harness.pool.connect();
      const query = async (text: string, values?: unknown[]) => {
        const result = await client.query(text, values);
        if (text.includes('FOR SHARE OF w')) await removeExpired(harness.pool, rule);
        return result;
      };
      return { query, on: () => {}, off: () => {}, release: () => client.release() };
    },
  } as unknown as Pool;
  expect(await resendDelivery(meanwhile, account, `dl_${sent}`)).toEqual({ ok: false, problem: 'not_found' });
  expect(await left('event')).toBe(0);
});

it('a day that somebody works on is left to the next run, and the worker is not disturbed', async () => {
  const { account, webhook } = await subscriber();
  const day = await dayAgo('14 months');
  await eventOf(account, webhook, day, 'entregada');
  await inTransaction(harness.pool, async (client) => {
    await client.query('SELECT * FROM delivery WHERE day = $1 FOR UPDATE', [day]);
    expect(await removeExpired(harness.pool, rule)).toMatchObject({ days: [], keptDays: [] });
  });
  expect(await removeExpired(harness.pool, rule)).toMatchObject({ days: [day] });
});

it('a stopped run is continued by the next; two runs at once do not fail, and each day is removed once', async () => {
  const { account, webhook } = await subscriber();
  const days = [await dayAgo('15 months'), await dayAgo('14 months')];
  for (const day of days) await eventOf(account, webhook, day, 'entregada');
  expect(await removeExpired(harness.pool, rule, AbortSignal.abort())).toEqual(nothing);
  const both = await Promise.all([removeExpired(harness.pool, rule), removeExpired(harness.pool, rule)]);
  // Days that one run left to the other, which was elsewhere, are removed by the next run.
  const all = [...both, await removeExpired(harness.pool, rule)];
  expect(all.flatMap((removed) => removed.days).sort()).toEqual(days);
});
