import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Pool } from '../../../../pipelines/runtime/postgres.ts';
import { Fuse } from '../../../support/publication/fuse.ts';
import { batchOf, change, makeWatchHarness, row, type WatchHarness } from '../../../support/watch/harness.ts';

// A consumer dies after each of its calls to PostgreSQL in turn, also after the commit. Then the batch is read again.
const rucs = ['20990000019', '20990000027', '20990000035'];
const day = '2026-11-27';
const at = new Date(`${day}T09:20:31.250Z`);
let harness: WatchHarness;
let edition = 0;

beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());

interface Scene {
  account: number;
  active: string;
  paused: string;
}

/** An account that alone watches the companies in two lists, with an active webhook and a paused one. */
async function makeScene(): Promise<Scene> {
  await harness.pool.query('UPDATE watch_list SET deleted_at = now() WHERE deleted_at IS NULL');
  const account = await harness.account();
  await harness.list(account, 'Proveedores', rucs);
  await harness.list(account, 'Clientes', rucs.slice(0, 1));
  const [active, paused] = [
    (await harness.webhook(account, 'https://example.com/')).id,
    (await harness.webhook(account, 'https://example.com/')).id,
  ];
  await harness.pool.query("UPDATE webhook SET estado = 'pausado' WHERE id = $1", [paused]);
  return { account, active, paused };
}

async function publish(corrects?: number): Promise<number> {
  edition += 1;
  await harness.edition(edition, '2026-11-26', at, corrects === undefined ? {} : { corrects });
  return edition;
}

function batchOfEdition(number: number, corrects?: number) {
  const [active, suspended] = [row(), row({ estado: 'SUSPENSION TEMPORAL' })];
  const rows = corrects === undefined ? { before: active, after: suspended } : { before: suspended, after: active };
  return batchOf(rucs.map((ruc) => change(number, ruc, at, { ...rows, corrects: corrects ?? null })));
}

/** Whether it died before it had handled the batch. */
async function handleUntilDeath(calls: number, number: number, corrects?: number): Promise<boolean> {
  const fuse = new Fuse(calls);
  try {
    await harness.handler({ pool: fuse.pool(harness.pool) as Pool })(batchOfEdition(number, corrects));
  } catch (error) {
    if (!fuse.isBlown) throw error;
  }
  return fuse.isBlown;
}

const stateOf = async ({ account, active }: Scene) => {
  const events = await harness.pool.query('SELECT position, ruc, edition FROM event WHERE account_id = $1 ORDER BY 1', [
    account,
  ]);
  const deliveries = await harness.pool.query(
    `SELECT CASE webhook_id WHEN $2 THEN 'active' ELSE 'paused' END AS webhook, position, estado FROM delivery
     WHERE account_id = $1 ORDER BY 1, 2`,
    [account, active],
  );
  const last = await harness.pool.query('SELECT last_position AS n FROM account_position WHERE account_id = $1', [
    account,
  ]);
  return {
    events: events.rows.map(({ position, ruc, edition: of }) => `${position} ${ruc} ${of}`),
    deliveries: deliveries.rows.map(({ webhook, position, estado }) => `${webhook} ${position} ${estado}`),
    last: last.rows[0]?.n ?? 0,
  };
};

const positions = [1, 2, 3, 4];
const eventsIn = (number: number, from = 0) =>
  [rucs[0], rucs[0], rucs[1], rucs[2]].map((ruc, index) => `${from + index + 1} ${ruc} ${number}`);

async function isDue(webhook: string): Promise<boolean> {
  const { rows } = await harness.pool.query(
    'SELECT wake_seq > 0 AND next_due_at <= now() AS due FROM webhook_work WHERE webhook_id = $1',
    [webhook],
  );
  return rows[0]?.due ?? false;
}

it('an edition becomes events completely or not at all, once and without a gap in positions, and its work is due', async () => {
  let calls = 0;
  for (let died = true; died; calls += 1) {
    const scene = await makeScene();
    const number = await publish();
    const whole = {
      events: eventsIn(number),
      deliveries: [
        ...positions.map((position) => `active ${position} pendiente`),
        ...positions.map((position) => `paused ${position} retenida`),
      ],
      last: 4,
    };
    died = await handleUntilDeath(calls, number);
    // A reader looks between the death and the next try.
    expect([{ events: [], deliveries: [], last: 0 }, whole]).toContainEqual(await stateOf(scene));
    await harness.handler()(batchOfEdition(number));
    expect(await stateOf(scene)).toEqual(whole);
    expect([await isDue(scene.active), await isDue(scene.paused)]).toEqual([true, false]);
  }
  expect(calls).toBeGreaterThan(10);
});

it('a correction cancels unsent deliveries and reaches the receivers of sent ones, whenever its consumer died', async () => {
  let calls = 0;
  for (let died = true; died; calls += 1) {
    const scene = await makeScene();
    const wrong = await publish();
    await harness.handler()(batchOfEdition(wrong));
    // One delivery has been attempted by now.
    await harness.pool.query('UPDATE delivery SET intentos = 1 WHERE webhook_id = $1 AND position = 3', [scene.active]);
    const before = await stateOf(scene);
    const correction = await publish(wrong);
    const after = {
      events: [...before.events, ...eventsIn(correction, 4)],
      deliveries: [
        ...positions.map((position) => `active ${position} ${position === 3 ? 'pendiente' : 'cancelada'}`),
        'active 7 pendiente',
        ...positions.map((position) => `paused ${position} cancelada`),
      ],
      last: 8,
    };
    died = await handleUntilDeath(calls, correction, wrong);
    expect([before, after]).toContainEqual(await stateOf(scene));
    await harness.handler()(batchOfEdition(correction, wrong));
    expect(await stateOf(scene)).toEqual(after);
    expect(await isDue(scene.active)).toBe(true);
  }
  expect(calls).toBeGreaterThan(12);
});
