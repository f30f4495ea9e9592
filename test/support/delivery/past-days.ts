import type { Pool } from '../../../pipelines/runtime/postgres.ts';

/** Every so many days, each webhook has one delivery that was not sent yet. */
const openEvery = 30;

/**
 * Gives each webhook one delivery with its event on each of the last `days` days, and prepares the days' tables. All
 * are delivered, except that of every 30th day, which a paused webhook holds.
 */
export async function fillPastDays(
  pool: Pool,
  webhooks: readonly { id: string; account: number }[],
  days: number,
): Promise<void> {
  await pool.query('SELECT ensure_event_day(current_date - n) FROM generate_series(0, $1::int - 1) AS n', [days]);
  const values = [webhooks.map(({ id }) => id), webhooks.map(({ account }) => account), days];
  await pool.query(
    `INSERT INTO event (day, id, account_id, position, list_id, evento, register, edition, ruc, fecha_dato, ocurrido_en, payload)
     SELECT current_date - n, 'ev_' || w.id || '_' || n, w.account, $3 - n, 1, 'ruc.estado_cambiado', 'padron_reducido', $3 - n,
       '20990000019', current_date - n, now() - make_interval(days => n), '{}'
     FROM unnest($1::text[], $2::bigint[]) AS w (id, account), generate_series(0, $3::int - 1) AS n`,
    values,
  );
  await pool.query(
    `INSERT INTO delivery (day, id, event_id, webhook_id, account_id, ruc, position, estado, created_at, finished_at)
     SELECT current_date - n, 'dl_' || w.id || '_' || n, 'ev_' || w.id || '_' || n, w.id, w.account, '20990000019', $3 - n,
       CASE WHEN n % $4 = 0 THEN 'retenida' ELSE 'entregada' END, now() - make_interval(days => n),
       CASE WHEN n % $4 = 0 THEN NULL ELSE now() - make_interval(days => n) END
     FROM unnest($1::text[], $2::bigint[]) AS w (id, account), generate_series(0, $3::int - 1) AS n`,
    [...values, openEvery],
  );
  await pool.query('ANALYZE event; ANALYZE delivery');
}
