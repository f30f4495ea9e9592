import type { Pool } from '../../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../../schemas/registers.ts';

// A catalogue whose registers are in different standings, at 10:00 in Lima on a Sunday.

export const sceneNow = new Date('2026-11-29T15:00:00Z');

/**
 * Writes daily publications with their editions, as the pipeline would leave them: the file at about 02:40 in Lima,
 * seen at 03:00 and served at 03:12.
 * @param skipped days before `lastDay` without a publication
 */
async function publishDaily(
  pool: Pool,
  register: RegisterName,
  { lastDay, days, rows, skipped = [] }: { lastDay: string; days: number; rows: number; skipped?: readonly number[] },
): Promise<void> {
  await pool.query(
    `WITH day AS (
       SELECT $2::date - n AS day, row_number() OVER (ORDER BY n DESC) AS number, n
       FROM generate_series(0, $3::int - 1) AS n WHERE n <> ALL ($5::int[])
     ), published AS (
       INSERT INTO publication (register, sha256, fecha_dato, published_at, state, detected_at, downloaded_at, state_at)
       SELECT $1::text, md5($1::text || n) || md5(n::text), day,
         (day + time '07:30') AT TIME ZONE 'UTC' + make_interval(mins => n * 7 % 23),
         'publicada', (day + time '08:00') AT TIME ZONE 'UTC', (day + time '08:01') AT TIME ZONE 'UTC',
         (day + time '08:12') AT TIME ZONE 'UTC'
       FROM day RETURNING id, fecha_dato, published_at, detected_at
     )
     INSERT INTO edition (register, number, publication_id, fecha_dato, published_at, detected_at, change_file_sha256,
       parser_version, columns, changes, counts, publicada_at, materializada_at, avisada_at)
     SELECT $1::text, day.number, p.id, p.fecha_dato, p.published_at, p.detected_at, repeat('cd', 32), 1, '{}'::text[],
       CASE WHEN day.number = 1 THEN $4::bigint ELSE 12000 + (n * 7919) % 17000 END,
       jsonb_build_object('stateRows', $4::bigint - n * 900,
         'baseline', CASE WHEN day.number = 1 THEN $4::bigint ELSE 0 END),
       p.detected_at, p.detected_at + interval '12 minutes', p.detected_at + interval '13 minutes'
     FROM published p JOIN day ON day.day = p.fecha_dato`,
    [register, lastDay, days, rows, skipped],
  );
  await pool.query(
    `INSERT INTO register_head (register, partitions, edition, fecha_dato, published_at, probed_at)
     SELECT register, 1, number, fecha_dato, published_at, $2::timestamptz FROM edition WHERE register = $1::text
     ORDER BY number DESC LIMIT 1
     ON CONFLICT (register) DO UPDATE SET edition = excluded.edition, fecha_dato = excluded.fecha_dato,
       published_at = excluded.published_at, probed_at = excluded.probed_at`,
    [register, new Date('2026-11-29T13:30:00Z')],
  );
}

/** Each register in another standing, with an incident of each kind. */
export async function fillStatusScene(pool: Pool): Promise<void> {
  await publishDaily(pool, 'padron_reducido', {
    lastDay: '2026-11-29',
    days: 120,
    rows: 18_341_022,
    skipped: [11, 40],
  });
  await pool.query(
    `UPDATE edition SET materializada_at = detected_at + interval '190 minutes'
     WHERE register = 'padron_reducido' AND fecha_dato = '2026-11-10'`,
  );
  await publishDaily(pool, 'agentes_retencion', { lastDay: '2026-11-28', days: 30, rows: 4_120 });
  await pool.query(
    `INSERT INTO publication (register, sha256, fecha_dato, published_at, state, state_reason, detected_at, state_at)
     VALUES ('agentes_retencion', repeat('ef', 32), '2026-11-29', '2026-11-29T07:41:00Z', 'en_cuarentena',
       'rows: 12 rows', '2026-11-29T08:00:00Z', '2026-11-29T08:02:00Z')`,
  );
  await publishDaily(pool, 'buenos_contribuyentes', { lastDay: '2026-11-27', days: 30, rows: 31_877 });
  await publishDaily(pool, 'sancionados', { lastDay: '2026-11-29', days: 30, rows: 9_004 });
  await pool.query(`UPDATE register_head SET probed_at = '2026-11-28T09:00:00Z' WHERE register = 'sancionados'`);
  await pool.query(
    `INSERT INTO reconciliation (register, edition, checked_at, equal, rows, differences)
     VALUES ('padron_reducido', 117, '2026-11-28T18:00:00Z', true, 18341022, 0),
       ('buenos_contribuyentes', 28, '2026-11-27T18:00:00Z', false, 31877, 3)`,
  );
}
