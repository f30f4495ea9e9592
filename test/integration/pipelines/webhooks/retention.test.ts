import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import { claimDeliveries } from '../../../../pipelines/webhooks/claim.ts';
import { oldestCursor, removeExpired } from '../../../../pipelines/webhooks/retention.ts';
import { makeWatchHarness, type WatchHarness } from '../../../support/watch/harness.ts';

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

it("attempts are removed after 90 days; a later attempt keeps its day's, and a held delivery can still be sent", async () => {
  const { account, webhook } = await subscriber();
  const [old, late] = [await dayAgo('91 days'), await dayAgo('92 days')];
  await eventOf(account, webhook, old, 'pendiente');
  await eventOf(account, webhook, late, 'entregada', '10 days');
  expect(await removeExpired(harness.pool, rule)).toMatchObject({ attemptDays: [old] });
  expect(await left('attempt')).toBe(1);
  await harness.pool.query(
    `INSERT INTO webhook_work (webhook_id, open_since) VALUES ($1, $2) ON CONFLICT (webhook_id) DO UPDATE SET open_since = $2`,
    [webhook, late],
  );
  const claim = await claimDeliveries(harness.pool, webhook, { deliveryLeaseMs: 60_000, workLeaseMs: 60_000 }, () => 1);
  expect(claim.deliveries).toMatchObject([{ day: old, attempt: 2 }]);
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
