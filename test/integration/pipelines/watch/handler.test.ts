import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { BatchHandler } from '../../../../pipelines/consumers/batch.ts';
import { makeShown } from '../../../../pipelines/consumers/wait-for-group.ts';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import { deleteList } from '../../../../pipelines/watch/lists.ts';
import { deleteWebhookIn, pauseWebhook, resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { batchOf, change, makeWatchHarness, row, type WatchHarness } from '../../../support/watch/harness.ts';

let harness: WatchHarness;
let edition = 0;
const detectedAt = new Date('2026-11-27T09:20:31.250Z');

beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());

/** An edition, and an account that watches the RUCs in one list. */
async function scene(rucs: readonly string[]) {
  edition += 1;
  // Lists of other scenes watch the same companies and are deleted.
  await harness.pool.query('UPDATE watch_list SET deleted_at = now() WHERE deleted_at IS NULL');
  await harness.edition(edition, '2026-11-26', detectedAt);
  const account = await harness.account();
  const list = await harness.list(account, 'Proveedores', rucs);
  return { edition, account, list };
}

interface EventRow {
  id: string;
  position: number;
  evento: string;
  ruc: string;
  payload: string;
  list_id: number;
}

async function eventsOf(account: number): Promise<EventRow[]> {
  const { rows } = await harness.pool.query<EventRow>(
    'SELECT id, position, evento, ruc, payload, list_id FROM event WHERE account_id = $1 ORDER BY position',
    [account],
  );
  return rows;
}

async function deliveriesOf(webhook: string): Promise<string[]> {
  const { rows } = await harness.pool.query<{ estado: string }>(
    'SELECT estado FROM delivery WHERE webhook_id = $1 ORDER BY position',
    [webhook],
  );
  return rows.map((each) => each.estado);
}

const suspended = { before: row(), after: row({ estado: 'SUSPENSION TEMPORAL' }) };

describe('changes of watched companies become events', () => {
  it('with the exact body that is sent, and a delivery per webhook', async () => {
    const { account, list, edition } = await scene(['20990000019']);
    const webhook = await harness.webhook(account, 'https://example.com/');
    await harness.handler()(batchOf([change(edition, '20990000019', detectedAt, suspended)]));
    const [event, ...more] = await eventsOf(account);
    expect(more).toEqual([]);
    expect(event!.payload).toBe(
      `{"id":"${event!.id}","posicion":1,"evento":"ruc.estado_cambiado","ocurrido_en":"2026-11-27T04:20:31-05:00",` +
        `"datos":{"ruc":"20990000019","campo":"estado","antes":"ACTIVO","despues":"SUSPENSIÓN TEMPORAL","fecha_dato":"2026-11-26"},` +
        `"watchlist":{"id":${list},"nombre":"Proveedores","referencia":"ref-Proveedores"},"correccion":null}`,
    );
    expect(event!.id).toMatch(/^ev_[A-Za-z0-9_-]{22}$/);
    expect(await deliveriesOf(webhook.id)).toEqual(['pendiente']);
    const { rows } = await harness.pool.query('SELECT day FROM event WHERE id = $1', [event!.id]);
    expect(rows).toEqual([{ day: '2026-11-27' }]);
  });

  it('only once the catalogue has the edition: a restored one lacks it, and the batch is tried again', async () => {
    const { account, edition } = await scene(['20990000019']);
    const lost = edition + 1_000;
    const batch = batchOf([change(lost, '20990000019', detectedAt, suspended)]);
    const refused = harness.handler()(batch);
    await expect(refused).rejects.toMatchObject({ retryable: true, advice: 'run `npx padron editions adopt`' });
    expect(await eventsOf(account)).toEqual([]);
    await harness.edition(lost, '2026-11-26', detectedAt);
    await harness.handler()(batch);
    expect(await eventsOf(account)).toHaveLength(1);
  });

  it('except baselines, unwatched companies, natural persons, unwatched columns and announced editions', async () => {
    const { account, edition } = await scene(['20990000019']);
    const handle = harness.handler();
    await handle(
      batchOf([
        change(edition, '20990000019', detectedAt, { op: 'r', before: null }),
        change(edition, '20990000027', detectedAt, suspended),
        change(edition, '10458741239', detectedAt, suspended),
        change(edition, '20990000019', detectedAt, { after: row({ ubigeo: '150102', numero: '12' }) }),
        change(edition, '20990000019', detectedAt, { after: row({ nombre: ' EMPRESA  DE PRUEBA S.A.C. ' }) }),
      ]),
    );
    await harness.pool.query('UPDATE edition SET avisada_at = now() WHERE number = $1', [edition]);
    await handle(batchOf([change(edition, '20990000019', detectedAt, suspended)]));
    expect(await eventsOf(account)).toEqual([]);
  });

  it('from null when a dash is filled, and none from one mark for nothing to another', async () => {
    const { account, edition } = await scene(['20990000019', '20990000027']);
    await harness.handler()(
      batchOf([
        change(edition, '20990000019', detectedAt, { before: row({ condicion: '-' }), after: row() }),
        change(edition, '20990000027', detectedAt, {
          before: row({ estado: '-', condicion: '--' }),
          after: row({ estado: '', condicion: '-' }),
        }),
      ]),
    );
    const payloads = (await eventsOf(account)).map(({ payload }) => JSON.parse(payload));
    expect(payloads).toMatchObject([
      { evento: 'ruc.condicion_cambiada', datos: { ruc: '20990000019', antes: null, despues: 'HABIDO' } },
    ]);
  });

  it('one per changed column and list, in order, also for a RUC that returns', async () => {
    const { account, edition } = await scene(['20990000019', '20990000027']);
    await harness.list(account, 'Clientes', ['20990000019']);
    const lastKnownRows = async () => new Map([['20990000027', row({ nombre: 'ANTES S.A.', condicion: 'NO HABIDO' })]]);
    await harness.handler({ lastKnownRows })(
      batchOf([
        change(edition, '20990000019', detectedAt, {
          after: row({ nombre: 'OTRA S.A.', condicion: 'NO HABIDO', estado: 'BAJA DE OFICIO' }),
        }),
        change(edition, '20990000027', detectedAt, { op: 'c', before: null }),
      ]),
    );
    expect((await eventsOf(account)).map(({ evento, ruc }) => `${ruc} ${evento}`)).toEqual([
      '20990000019 ruc.estado_cambiado',
      '20990000019 ruc.estado_cambiado',
      '20990000019 ruc.condicion_cambiada',
      '20990000019 ruc.condicion_cambiada',
      '20990000019 ruc.nombre_cambiado',
      '20990000019 ruc.nombre_cambiado',
      '20990000027 ruc.alta',
      '20990000027 ruc.condicion_cambiada',
      '20990000027 ruc.nombre_cambiado',
    ]);
  });

  it('only for lists, members and webhooks that existed when the edition was detected', async () => {
    const { account, edition, list } = await scene(['20990000019']);
    const late = new Date(detectedAt.getTime() + 1);
    await harness.pool.query('INSERT INTO watch_member (list_id, ruc, added_at) VALUES ($1, $2, $3)', [
      list,
      '20990000027',
      late,
    ]);
    const [early, webhookLate, other, deleted] = await Promise.all(
      ['a', 'b', 'c', 'd'].map((path) => harness.webhook(account, `https://example.com/${path}`)),
    );
    await harness.pool.query('UPDATE webhook SET created_at = $2 WHERE id = $1', [webhookLate!.id, late]);
    await harness.pool.query(`UPDATE webhook SET eventos = '{ruc.baja}' WHERE id = $1`, [other!.id]);
    await inTransaction(harness.pool, (client) => deleteWebhookIn(client, account, deleted!.id));
    const changes = ['20990000019', '20990000027'].map((ruc) => change(edition, ruc, detectedAt, suspended));
    await harness.handler()(batchOf(changes));
    expect((await eventsOf(account)).map(({ ruc }) => ruc)).toEqual(['20990000019']);
    expect(await deliveriesOf(early!.id)).toEqual(['pendiente']);
    for (const none of [webhookLate, other, deleted]) expect(await deliveriesOf(none!.id)).toEqual([]);
  });
});

it('a webhook whose lists are all deleted receives nothing, not even events of the account’s other lists', async () => {
  const { account, edition, list } = await scene(['20990000019']);
  await harness.list(account, 'Otra', ['20990000019']);
  const narrow = await harness.webhook(account, 'https://example.com/narrow', { listas: [list] });
  const wide = await harness.webhook(account, 'https://example.com/wide');
  expect(await deleteList(harness.pool, account, list)).toBe(true);
  await harness.handler()(batchOf([change(edition, '20990000019', detectedAt, suspended)]));
  expect(await eventsOf(account)).toHaveLength(1);
  expect(await deliveriesOf(wide.id)).toEqual(['pendiente']);
  expect(await deliveriesOf(narrow.id)).toEqual([]);
});

describe('a batch may come again', () => {
  it('and makes no second event, moves no position and wakes again', async () => {
    const { account, edition } = await scene(['20990000019', '20990000027']);
    const webhook = await harness.webhook(account, 'https://example.com/');
    const woken: string[][] = [];
    const handle = harness.handler({ wake: async (ids) => void woken.push([...ids]) });
    const first = change(edition, '20990000019', detectedAt, suspended);
    const second = change(edition, '20990000027', detectedAt, suspended);
    await handle(batchOf([first]));
    const before = await eventsOf(account);
    await handle(batchOf([first]));
    expect(await eventsOf(account)).toEqual(before);
    // A batch with the old record and a new one gives the new event the very next position.
    await handle(batchOf([first, second]));
    expect((await eventsOf(account)).map(({ position, ruc }) => `${position} ${ruc}`)).toEqual([
      '1 20990000019',
      '2 20990000027',
    ]);
    expect(await deliveriesOf(webhook.id)).toEqual(['pendiente', 'pendiente']);
    expect(woken).toEqual([[webhook.id], [webhook.id], [webhook.id]]);
  });

  it('and may hold a record twice, after a producer died: one event', async () => {
    const { account, edition } = await scene(['20990000019', '20990000027']);
    const webhook = await harness.webhook(account, 'https://example.com/');
    const [first, second] = ['20990000019', '20990000027'].map((ruc) => change(edition, ruc, detectedAt, suspended));
    await harness.handler()(batchOf([first!, second!, first!, second!]));
    expect((await eventsOf(account)).map(({ position, ruc }) => `${position} ${ruc}`)).toEqual([
      '1 20990000019',
      '2 20990000027',
    ]);
    expect(await deliveriesOf(webhook.id)).toEqual(['pendiente', 'pendiente']);
  });

  it('a wake-up that Temporal does not accept stops nothing, and the work is overdue', async () => {
    const { account, edition } = await scene(['20990000019']);
    const webhook = await harness.webhook(account, 'https://example.com/');
    await harness.handler({ wake: () => Promise.reject(new Error('unavailable')) })(
      batchOf([change(edition, '20990000019', detectedAt, suspended)]),
    );
    const { rows } = await harness.pool.query(
      'SELECT next_due_at <= now() AS due FROM webhook_work WHERE webhook_id = $1',
      [webhook.id],
    );
    expect(rows).toEqual([{ due: true }]);
  });

  it('no wake-up is sent while a live lease stands, but wake_seq is raised', async () => {
    const { account, edition } = await scene(['20990000019']);
    const webhook = await harness.webhook(account, 'https://example.com/');
    await harness.pool.query(
      `INSERT INTO webhook_work (webhook_id, wake_seq, lease_until) VALUES ($1, 4, now() + interval '1 minute')`,
      [webhook.id],
    );
    const woken: string[] = [];
    await harness.handler({ wake: async (ids) => void woken.push(...ids) })(
      batchOf([change(edition, '20990000019', detectedAt, suspended)]),
    );
    expect(woken).toEqual([]);
    const { rows } = await harness.pool.query('SELECT wake_seq FROM webhook_work WHERE webhook_id = $1', [webhook.id]);
    expect(rows).toEqual([{ wake_seq: 5 }]);
  });
});

it('positions are in the order of commits, without gaps, however many batches write at once', async () => {
  const rucs = Array.from({ length: 200 }, (_, index) => `20${String(500_000_000 + index)}`);
  const { account, edition } = await scene(rucs);
  const handlers: BatchHandler[] = Array.from({ length: 8 }, () => harness.handler());
  const seen: number[] = [];
  let reading = true;
  // A reader with a cursor, as the event history is read. No smaller position may appear later.
  const reader = (async () => {
    while (reading) {
      const { rows } = await harness.pool.query<{ position: number }>(
        'SELECT position FROM event WHERE account_id = $1 AND position > $2 ORDER BY position',
        [account, seen.at(-1) ?? 0],
      );
      seen.push(...rows.map(({ position }) => position));
    }
  })();
  await Promise.all(
    handlers.map(async (handle, partition) => {
      for (let start = partition; start < rucs.length; start += handlers.length) {
        await handle(batchOf([change(edition, rucs[start]!, detectedAt, suspended)], partition, start));
      }
    }),
  );
  await new Promise((resolve) => setTimeout(resolve, 50));
  reading = false;
  await reader;
  expect(seen).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
});

describe('a batch is held until look-ups show its state', () => {
  it('until every replica that may answer shows its last watched change', async () => {
    const { account, edition } = await scene(['20990000019']);
    const committed = { first: 12, second: 11 };
    const offsets = {
      committed: async (group: string) => [0, 0, 0, group === 'first' ? committed.first : committed.second],
    };
    const shown = makeShown(offsets, async () => ['first', 'second']);
    let isDone = false;
    // The limit is over long before the second group goes on: it counts only while no replica shows the change.
    const handled = harness
      .handler({ shown, limits: { holdMs: 20, holdPollMs: 5 } })(
        batchOf(
          [
            change(edition, '20990000027', detectedAt, suspended),
            change(edition, '20990000019', detectedAt, suspended),
          ],
          3,
          10,
        ),
      )
      .then(() => {
        isDone = true;
      });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect([isDone, await eventsOf(account)]).toEqual([false, []]);
    committed.second = 12;
    await handled;
    expect(await eventsOf(account)).toHaveLength(1);
  });

  it('until a limit, and a batch that was taken away is left to its new owner', async () => {
    const { account, edition } = await scene(['20990000019']);
    const batch = batchOf([change(edition, '20990000019', detectedAt, suspended)]);
    const limits = { holdMs: 50, holdPollMs: 10 };
    await harness.handler({ shown: async () => 'nowhere' as const, limits })({ ...batch, isStale: () => true });
    expect(await eventsOf(account)).toHaveLength(0);
    await harness.handler({ shown: async () => 'nowhere' as const, limits })(batch);
    expect(await eventsOf(account)).toHaveLength(1);
  });
});

it('a paused webhook gets held deliveries; a pause holds what is pending, and a resume releases it once', async () => {
  const { account, edition } = await scene(['20990000019', '20990000027']);
  const webhook = await harness.webhook(account, 'https://example.com/');
  const handle = harness.handler();
  await handle(batchOf([change(edition, '20990000019', detectedAt, suspended)]));
  expect(await pauseWebhook(harness.pool, webhook.id, 'cliente')).toBe(true);
  expect(await pauseWebhook(harness.pool, webhook.id, 'fallos')).toBe(false);
  await handle(batchOf([change(edition, '20990000027', detectedAt, suspended)]));
  expect(await deliveriesOf(webhook.id)).toEqual(['retenida', 'retenida']);
  expect(await resumeWebhook(harness.pool, webhook.id)).toEqual({ resumed: true, released: 2 });
  expect(await resumeWebhook(harness.pool, webhook.id)).toEqual({ resumed: false, released: 0 });
  expect(await deliveriesOf(webhook.id)).toEqual(['pendiente', 'pendiente']);
});
