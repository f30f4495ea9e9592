import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Change } from '../../../../pipelines/changes/record.ts';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import { claimDeliveries } from '../../../../pipelines/webhooks/claim.ts';
import { deleteWebhookIn, discardHeld, pauseWebhook, resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { resendDelivery } from '../../../../pipelines/webhooks/resend.ts';
import { batchOf, change, makeWatchHarness, row, type WatchHarness } from '../../../support/watch/harness.ts';

let harness: WatchHarness;
let edition = 0;
// The day of the wrong edition and the day of its correction. Their events are in different partitions.
const hourMs = 3_600_000;
const wrongAt = new Date(Date.now() - 23 * hourMs);
const correctedAt = new Date(wrongAt.getTime() + 24 * hourMs);
const ruc = '20990000019';

beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());

const suspended = { before: row(), after: row({ estado: 'SUSPENSION TEMPORAL' }) };
const undone = { before: suspended.after, after: row() };

/** An edition that changed the company wrongly, and the edition that corrects it. */
async function scene(parts: Partial<Change> = suspended) {
  const wrong = edition + 1;
  edition += 2;
  await harness.pool.query('UPDATE watch_list SET deleted_at = now() WHERE deleted_at IS NULL');
  await harness.edition(wrong, '2026-11-25', wrongAt);
  await harness.edition(edition, '2026-11-26', correctedAt, { corrects: wrong });
  const account = await harness.account();
  const list = await harness.list(account, 'Proveedores', [ruc]);
  const webhook = async (name: string) => (await harness.webhook(account, `https://example.com/${name}`)).id;
  const correction = edition;
  const handle = harness.handler();
  return {
    account,
    list,
    wrong,
    correction,
    webhook,
    announceWrong: () => handle(batchOf([change(wrong, ruc, wrongAt, parts)])),
    correct: (undo: Partial<Change> = undone) =>
      handle(batchOf([change(correction, ruc, correctedAt, { corrects: wrong, ...undo })])),
  };
}

async function eventsOf(account: number) {
  const { rows } = await harness.pool.query<{ id: string; edition: number; evento: string; payload: string }>(
    'SELECT id, edition, evento, payload FROM event WHERE account_id = $1 ORDER BY position',
    [account],
  );
  return rows.map(({ payload, ...rest }) => ({ ...rest, correccion: JSON.parse(payload).correccion }));
}

/** Estados of the webhook's deliveries, first of the wrong events and then of the correction's. */
async function deliveriesOf(webhook: string): Promise<string[]> {
  const { rows } = await harness.pool.query<{ estado: string }>(
    'SELECT estado FROM delivery WHERE webhook_id = $1 ORDER BY position',
    [webhook],
  );
  return rows.map(({ estado }) => estado);
}

const claim = (webhook: string) =>
  claimDeliveries(harness.pool, webhook, { deliveryLeaseMs: 60_000, workLeaseMs: 60_000 }, () => 10);

it('an unsent event is cancelled, and its correction is only in the history', async () => {
  const { account, wrong, webhook, announceWrong, correct } = await scene();
  const unsent = await webhook('unsent');
  await announceWrong();
  await correct();
  const [original, correction, ...more] = await eventsOf(account);
  expect(more).toEqual([]);
  expect(original!.correccion).toBeNull();
  expect(correction).toMatchObject({
    evento: 'ruc.estado_cambiado',
    correccion: { edicion: wrong, evento: original!.id },
  });
  expect(await deliveriesOf(unsent)).toEqual(['cancelada']);
  expect((await claim(unsent)).deliveries).toEqual([]);
});

it('a webhook that was sent the original, with whatever outcome, is sent the correction; no other webhook is', async () => {
  const { account, webhook, announceWrong, correct } = await scene();
  const [inFlight, delivered, held, discarded, later] = await Promise.all(
    ['in-flight', 'delivered', 'held', 'discarded', 'later'].map(webhook),
  );
  await harness.pool.query('UPDATE webhook SET created_at = $2 WHERE id = $1', [later, correctedAt]);
  for (const paused of [held!, discarded!]) await pauseWebhook(harness.pool, paused, 'cliente');
  await announceWrong();
  for (const sent of [inFlight!, delivered!]) expect((await claim(sent)).deliveries).toHaveLength(1);
  await harness.pool.query(`UPDATE delivery SET estado = 'entregada', next_due_at = NULL WHERE webhook_id = $1`, [
    delivered,
  ]);
  await discardHeld(harness.pool, discarded!, null);
  // Its filters no longer let such events pass, but it received the wrong one.
  await harness.pool.query(`UPDATE webhook SET eventos = '{ruc.baja}' WHERE id = $1`, [delivered]);
  await correct();
  expect(await deliveriesOf(inFlight!)).toEqual(['en_curso', 'pendiente']);
  expect(await deliveriesOf(delivered!)).toEqual(['entregada', 'pendiente']);
  expect(await deliveriesOf(held!)).toEqual(['cancelada']);
  expect(await deliveriesOf(discarded!)).toEqual(['cancelada']);
  expect(await deliveriesOf(later!)).toEqual([]);
  expect(await resumeWebhook(harness.pool, held!)).toEqual({ resumed: true, released: 0 });
  // Two deliveries of one company are never sent at once: the correction waits for the original in flight.
  expect((await claim(inFlight!)).deliveries).toEqual([]);
  const [{ payload } = { payload: '' }] = (await claim(delivered!)).deliveries;
  expect(JSON.parse(payload).correccion).toEqual({
    edicion: expect.any(Number),
    evento: (await eventsOf(account))[0]!.id,
  });
});

it('a wrong correction is corrected for receivers of it, and for receivers of neither: both believe something wrong', async () => {
  const { account, correction, webhook, announceWrong, correct } = await scene();
  const [unsent, heardOnce, heardBoth] = await Promise.all(['unsent-twice', 'heard-once', 'heard-both'].map(webhook));
  await announceWrong();
  for (const hook of [heardOnce!, heardBoth!]) await claim(hook);
  await harness.pool.query(`UPDATE delivery SET estado = 'entregada', next_due_at = NULL WHERE webhook_id = ANY($1)`, [
    [heardOnce, heardBoth],
  ]);
  await correct();
  await claim(heardBoth!);
  edition += 1;
  const backAt = new Date();
  await harness.edition(edition, '2026-11-27', backAt, { corrects: correction });
  await harness.handler()(batchOf([change(edition, ruc, backAt, { corrects: correction, ...suspended })]));
  expect(await deliveriesOf(unsent!)).toEqual(['cancelada', 'pendiente']);
  // It received what is true again, and never the wrong correction.
  expect(await deliveriesOf(heardOnce!)).toEqual(['entregada', 'cancelada']);
  expect(await deliveriesOf(heardBoth!)).toEqual(['entregada', 'en_curso', 'pendiente']);
  expect(await eventsOf(account)).toHaveLength(3);
});

it('a delivery that was taken back cannot be sent again by hand, before its correction or after; the correction can', async () => {
  const { account, wrong, correction, webhook, announceWrong, correct } = await scene();
  const [sent, unsent] = [await webhook('sent-by-hand'), await webhook('unsent-by-hand')];
  await announceWrong();
  await claim(sent);
  const idsOf = async (hook: string) =>
    (
      await harness.pool.query<{ id: string }>('SELECT id FROM delivery WHERE webhook_id = $1 ORDER BY position', [
        hook,
      ])
    ).rows.map(({ id }) => id);
  const [[original], [cancelled]] = [await idsOf(sent), await idsOf(unsent)];
  await harness.pool.query(`UPDATE delivery SET estado = 'agotada', next_due_at = NULL WHERE id = $1`, [original]);
  expect(await resendDelivery(harness.pool, account, original!)).toMatchObject({ ok: true, estado: 'pendiente' });
  await correct();
  await harness.pool.query(`UPDATE delivery SET estado = 'agotada', next_due_at = NULL WHERE webhook_id = $1`, [sent]);
  const refused = { ok: false, problem: 'taken_back', by: { edition: correction, fechaDato: '2026-11-26' } };
  for (const id of [original!, cancelled!]) expect(await resendDelivery(harness.pool, account, id)).toEqual(refused);
  expect(await deliveriesOf(sent)).toEqual(['agotada', 'agotada']);
  const [, ofCorrection] = await idsOf(sent);
  expect(await resendDelivery(harness.pool, account, ofCorrection!)).toMatchObject({ ok: true, estado: 'pendiente' });
  expect(correction).toBeGreaterThan(wrong);
});

it('a repeated batch writes nothing new, moves no position and wakes again', async () => {
  const { account, webhook, announceWrong, correct } = await scene();
  const [sent, unsent] = [await webhook('sent'), await webhook('unsent')];
  await announceWrong();
  await claim(sent);
  await correct();
  const before = [await eventsOf(account), await deliveriesOf(sent), await deliveriesOf(unsent)];
  await correct();
  expect([await eventsOf(account), await deliveriesOf(sent), await deliveriesOf(unsent)]).toEqual(before);
  expect(before[0]).toHaveLength(2);
});

it('a baja corrects an alta, and the unsent field events beside the alta are cancelled', async () => {
  const returned = { op: 'c', before: null, after: row({ condicion: 'NO HABIDO' }) } as const;
  const { account, wrong, webhook, correct, list } = await scene();
  const [altas, all] = [await webhook('altas'), await webhook('all')];
  await harness.pool.query(`UPDATE webhook SET eventos = '{ruc.alta}' WHERE id = $1`, [altas]);
  const lastKnownRows = async () => new Map([[ruc, row()]]);
  await harness.handler({ lastKnownRows })(batchOf([change(wrong, ruc, wrongAt, returned)]));
  await claim(altas);
  expect(await deliveriesOf(all)).toEqual(['pendiente', 'pendiente']);
  await correct({ op: 'd', before: returned.after, after: null });
  expect((await eventsOf(account)).map(({ evento, correccion }) => [evento, correccion?.edicion])).toEqual([
    ['ruc.alta', undefined],
    ['ruc.condicion_cambiada', undefined],
    ['ruc.baja', wrong],
  ]);
  expect(await deliveriesOf(altas)).toEqual(['en_curso', 'pendiente']);
  expect(await deliveriesOf(all)).toEqual(['cancelada', 'cancelada']);
  expect(list).toBeGreaterThan(0);
});

it('a list made after the wrong edition has the correction in its history, with no event that it corrects', async () => {
  const { account, wrong, list, webhook, announceWrong, correct } = await scene();
  const hook = await webhook('hook');
  await harness.pool.query('UPDATE watch_member SET added_at = $2 WHERE list_id = $1', [list, correctedAt]);
  await announceWrong();
  await correct();
  expect(await eventsOf(account)).toEqual([
    expect.objectContaining({ evento: 'ruc.estado_cambiado', correccion: { edicion: wrong, evento: null } }),
  ]);
  expect(await deliveriesOf(hook)).toEqual([]);
});

it('wrong events are not sent either if nobody watches the company any more', async () => {
  const { account, list, webhook, announceWrong, correct } = await scene();
  const [hook, deleted] = [await webhook('hook'), await webhook('deleted')];
  await announceWrong();
  await harness.pool.query('DELETE FROM watch_member WHERE list_id = $1', [list]);
  await inTransaction(harness.pool, (client) => deleteWebhookIn(client, account, deleted));
  await correct();
  expect(await deliveriesOf(hook)).toEqual(['cancelada']);
  expect(await deliveriesOf(deleted)).toEqual(['cancelada']);
  expect(await eventsOf(account)).toHaveLength(1);
});

it('a claim that began before the correction counts as sent, and the two do not deadlock', async () => {
  const { wrong, correction, webhook, list } = await scene();
  const hook = await webhook('hook');
  const other = '20990000027';
  await harness.pool.query('INSERT INTO watch_member (list_id, ruc, added_at) SELECT $1, $2, $3', [
    list,
    other,
    new Date(0),
  ]);
  const handle = harness.handler();
  await handle(batchOf([ruc, other].map((each) => change(wrong, each, wrongAt, suspended))));
  await harness.pool.query(`UPDATE delivery SET intentos = 1 WHERE webhook_id = $1 AND ruc = $2`, [hook, ruc]);
  const undo = { ...undone, corrects: wrong };
  await inTransaction(harness.pool, async (claiming) => {
    await claiming.query('SELECT 1 FROM webhook_work WHERE webhook_id = $1 FOR UPDATE', [hook]);
    const corrected = handle(batchOf([ruc, other].map((each) => change(correction, each, correctedAt, undo))));
    await sleep(300);
    const claimed = await claiming.query(
      `UPDATE delivery SET estado = 'en_curso', intentos = 1 WHERE webhook_id = $1 AND ruc = $2 AND estado = 'pendiente'`,
      [hook, other],
    );
    expect(claimed.rowCount).toBe(1);
    return { corrected };
  }).then(({ corrected }) => corrected);
  expect(await deliveriesOf(hook)).toEqual(['pendiente', 'en_curso', 'pendiente', 'pendiente']);
});
