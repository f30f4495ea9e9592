import { setTimeout as sleep } from 'node:timers/promises';
import { watchLimits } from '../../../pipelines/consumers/watch.ts';
import { pauseWebhook, resumeWebhook } from '../../../pipelines/webhooks/pauses.ts';
import { batchOf, change, row, type WatchHarness } from '../watch/harness.ts';
import type { DeliveryStage } from './stage.ts';

const day = '2026-11-27';

/** Creates an account with one webhook for each path. */
export async function makeWebhooks(
  stage: DeliveryStage,
  paths: readonly string[],
): Promise<{ id: string; account: number; path: string }[]> {
  const made = [];
  for (const path of paths) {
    const account = await stage.account();
    const { id } = await stage.webhook(account, stage.origin + path, { rate: 200, inFlight: 50 });
    made.push({ id, account, path });
  }
  return made;
}

/** Pauses every webhook and gives it `each` held deliveries, each about a different company. */
export async function holdDeliveries(
  stage: Pick<WatchHarness, 'pool'>,
  webhooks: readonly { id: string; account: number }[],
  each: number,
): Promise<void> {
  await stage.pool.query('SELECT ensure_event_day($1)', [day]);
  for (const { id, account } of webhooks) {
    await pauseWebhook(stage.pool, id, 'cliente');
    await stage.pool.query(
      `INSERT INTO event (day, id, account_id, position, list_id, evento, register, edition, ruc, fecha_dato, ocurrido_en, payload)
       SELECT $1::date, 'ev_' || $3::text || '_' || n, $2::bigint, n, 1, 'ruc.estado_cambiado', 'padron_reducido', 1,
         '20' || lpad(n::text, 9, '0'), $1::date, now(), json_build_object('id', 'ev_' || $3::text || '_' || n, 'evento', 'ruc.estado_cambiado',
           'ocurrido_en', now(), 'datos', json_build_object('ruc', '20' || lpad(n::text, 9, '0'), 'campo', 'estado',
           'antes', 'ACTIVO', 'despues', 'SUSPENSIÓN TEMPORAL', 'fecha_dato', $1::date), 'watchlist',
           json_build_object('id', 1, 'nombre', 'Proveedores', 'referencia', null), 'posicion', n, 'correccion', null)::text
       FROM generate_series(1, $4::int) AS n`,
      [day, account, id, each],
    );
    await stage.pool.query(
      `INSERT INTO delivery (day, id, event_id, webhook_id, account_id, ruc, position, estado)
       SELECT day, 'dl_' || id, id, $3, account_id, ruc, position, 'retenida' FROM event WHERE day = $1 AND account_id = $2`,
      [day, account, id],
    );
  }
  await stage.pool.query('ANALYZE event; ANALYZE delivery');
}

/** Resumes the webhooks and wakes their workflows, as the API does. */
export async function resumeAll(stage: DeliveryStage, webhooks: readonly { id: string }[]): Promise<void> {
  for (const { id } of webhooks) await resumeWebhook(stage.pool, id);
  await stage.wake(webhooks.map(({ id }) => id));
}

const batchEveryMs = 50;

/**
 * Feeds changes to the watch consumer at an even rate, about ten in a batch; consecutive companies belong to different
 * accounts. The consumer polls until look-ups show a batch, as in production.
 * @returns when look-ups showed the change, by company
 */
export async function announceAtRate(
  stage: DeliveryStage,
  accounts: readonly number[],
  perSecond: number,
  seconds: number,
): Promise<Map<string, number>> {
  const total = perSecond * seconds;
  const rucs = Array.from({ length: total }, (_, index) => `20${String(index).padStart(9, '0')}`);
  const detectedAt = new Date();
  await stage.pool.query('UPDATE watch_list SET deleted_at = now() WHERE deleted_at IS NULL');
  for (const [index, account] of accounts.entries()) {
    const own = rucs.filter((_, at) => at % accounts.length === index);
    await stage.list(account, `Bench ${detectedAt.getTime()}`, own);
  }
  const { rows } = await stage.pool.query<{ next: number }>('SELECT coalesce(max(number), 0) + 1 AS next FROM edition');
  const edition = rows[0]!.next;
  await stage.edition(edition, day, detectedAt);
  await stage.pool.query('SELECT ensure_event_day(current_date)');
  const shown = new Map<string, number>();
  const perBatch = Math.round((perSecond * batchEveryMs) / 1_000);
  const began = performance.now();
  const batches: Promise<void>[] = [];
  for (let first = 0; first < total; first += perBatch) {
    await sleep(Math.max(0, began + (first / perSecond) * 1_000 - performance.now()));
    batches.push(announceBatch(stage, edition, detectedAt, rucs.slice(first, first + perBatch), shown));
  }
  await Promise.all(batches);
  return shown;
}

async function announceBatch(
  stage: DeliveryStage,
  edition: number,
  detectedAt: Date,
  rucs: readonly string[],
  shown: Map<string, number>,
): Promise<void> {
  // The consumer polls, and the batch becomes visible at a random point between two polls.
  const servedAt = performance.now() + Math.random() * watchLimits.holdPollMs;
  for (const ruc of rucs) shown.set(ruc, performance.timeOrigin + servedAt);
  const handle = stage.handler({
    wake: stage.wake,
    shown: async () => (performance.now() >= servedAt ? 'everywhere' : 'nowhere'),
    limits: watchLimits,
  });
  const after = row({ estado: 'SUSPENSION TEMPORAL' });
  await handle(batchOf(rucs.map((ruc) => change(edition, ruc, detectedAt, { after }))));
}
