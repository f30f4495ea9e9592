import { limaDay } from '../../schemas/lima-time.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import type { SourceDate } from '../registers/module.ts';
import type { Queryable } from '../runtime/postgres.ts';
import { isReverted } from './corrections.ts';
import type { Head } from './heads.ts';
import { type PublicationState, waitsForDate } from './publications.ts';

/**
 * Limits beyond which a register is late. All hours and days count, also those of weekends and holidays. A missing
 * limit does not apply.
 */
export interface LatenessLimits {
  maxProbeAgeHours: number;
  /** Most hours since the oldest unfinished work (`open_since`) began. */
  maxOpenHours: number;
  /** Most hours since the newest publication came out. */
  maxPublicationAgeHours?: number;
  /** Most days since the end of the data's month. */
  maxDaysAfterMonth?: number;
  maxDataAgeDays?: number;
}

// A list changes only when an authority decides a case. Old data need not be late, so the limit on their age is wide.
const list: LatenessLimits = { maxProbeAgeHours: 24, maxOpenHours: 6, maxDataAgeDays: 45 };

export const latenessByRegister: Readonly<Record<RegisterName, LatenessLimits>> = {
  // SUNAT publishes at about 02:40; we probe until 08:30. If the last publication is 36 hours old, we missed a morning.
  padron_reducido: { maxProbeAgeHours: 24, maxOpenHours: 6, maxPublicationAgeHours: 36 },
  padron_mensual: { maxProbeAgeHours: 24, maxOpenHours: 6, maxDaysAfterMonth: 45 },
  agentes_retencion: list,
  buenos_contribuyentes: list,
  sancionados: list,
  inhabilitaciones_judiciales: list,
  inhabilitaciones_administrativas: list,
};

export type DatedHead = Pick<RegisterFreshness, 'fecha_dato' | 'published_at' | 'probed_at' | 'open_since'>;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The reasons why a register is late, for an operator. Empty when it is not late. */
export function lateness(head: DatedHead, limits: LatenessLimits, now: Date): string[] {
  const reasons: string[] = [];
  const add = (what: string, value: number, limit: number | undefined, unit: string) => {
    if (limit !== undefined && value > limit) {
      reasons.push(`${what} ${Math.floor(value)} ${unit} ago (at most ${limit})`);
    }
  };
  const hoursSince = (time: Date) => (now.getTime() - time.getTime()) / hourMs;
  if (head.fecha_dato === null) reasons.push('it has no edition yet');
  if (head.probed_at === null) reasons.push('its official site has never answered');
  else add('its official site last answered', hoursSince(head.probed_at), limits.maxProbeAgeHours, 'h');
  // If a step fails again and again, its work never reaches a final state. This limit shows that the work stands still.
  if (head.open_since !== null) {
    add('what is on its way began', hoursSince(head.open_since), limits.maxOpenHours, 'h');
  }
  if (head.published_at !== null) {
    add('its newest publication came out', hoursSince(head.published_at), limits.maxPublicationAgeHours, 'h');
  }
  if (head.fecha_dato !== null) {
    const daysSince = (time: number) => (Date.parse(limaDay(now)) - time) / dayMs;
    add('its data are of', daysSince(Date.parse(head.fecha_dato)), limits.maxDataAgeDays, 'days');
    add('the month of its data ended', daysSince(endOfMonth(head.fecha_dato)), limits.maxDaysAfterMonth, 'days');
  }
  return reasons;
}

/** Returns the start (UTC) of the last day of a date's month, in milliseconds since 1970. */
function endOfMonth(day: string): number {
  const [year, month] = day.split('-').map(Number);
  return Date.UTC(year!, month!, 0);
}

export interface RegisterFreshness
  extends Omit<Head, 'publication_sha256' | 'partitions' | 'change_file_sha256' | 'detected_at' | 'materialised'> {
  rows: number | null;
  /**
   * Number of the oldest unfinished edition: it is not yet published, not yet materialised, or not all its events are
   * written.
   */
  on_its_way: number | null;
  /** When the oldest unfinished edition, correction or publication began. During a pause, publications do not count. */
  open_since: Date | null;
  /** Number of publications that wait for an operator. */
  quarantined: number;
  last_publication: { id: number; state: PublicationState; fecha_dato: string | null } | null;
  last_reconciliation: { edition: number; checked_at: string; equal: boolean; differences: number } | null;
  late: string[];
}

/** All registers in their fixed order, also registers that have no row in the database. */
export async function readFreshness(database: Queryable, now: Date = new Date()): Promise<RegisterFreshness[]> {
  const { rows } = await database.query<Omit<RegisterFreshness, 'late'>>(
    `SELECT wanted.register, COALESCE(head.edition, 0) AS edition, head.fecha_dato, head.published_at, head.probed_at,
       head.paused_at, head.paused_by, head.paused_reason, (edition.counts->>'stateRows')::bigint AS rows,
       (SELECT min(number) FROM edition e WHERE e.register = wanted.register AND e.avisada_at IS NULL) AS on_its_way,
       LEAST(
         (SELECT min(detected_at) FROM edition e WHERE e.register = wanted.register AND e.avisada_at IS NULL),
         (SELECT min(requested_at) FROM correction c WHERE c.register = wanted.register AND c.state IN ('pedida', 'comparada')),
         (SELECT min(state_at) FROM publication p WHERE p.register = wanted.register
            AND p.state IN ('descargada', 'verificada', 'comparada') AND head.paused_at IS NULL)) AS open_since,
       (SELECT count(*) FROM publication p WHERE p.register = wanted.register AND p.state = 'en_cuarentena') AS quarantined,
       (SELECT jsonb_build_object('id', p.id, 'state', p.state, 'fecha_dato', p.fecha_dato) FROM publication p
        WHERE p.register = wanted.register ORDER BY p.id DESC LIMIT 1) AS last_publication,
       (SELECT jsonb_build_object('edition', r.edition, 'checked_at', r.checked_at, 'equal', r.equal, 'differences', r.differences)
        FROM reconciliation r WHERE r.register = wanted.register ORDER BY r.id DESC LIMIT 1) AS last_reconciliation
     FROM unnest($1::text[]) WITH ORDINALITY AS wanted (register, place)
     LEFT JOIN register_head head ON head.register = wanted.register
     LEFT JOIN edition ON edition.register = head.register AND edition.number = head.edition
     ORDER BY wanted.place`,
    [registerNames],
  );
  return rows.map((row) => ({ ...row, late: lateness(row, latenessByRegister[row.register], now) }));
}

/** Time from the first sight of a publication until look-ups show it, beyond which its edition counts as late. */
const servedInTime = '10 minutes';

/**
 * Counts the editions of the last 30 days by whether they were served in time. One that is not served yet counts once
 * its time is over. A correction's time begins with its order.
 */
export async function countServed(
  database: Queryable,
): Promise<{ register: RegisterName; inTime: number; late: number }[]> {
  const { rows } = await database.query<{ register: RegisterName; inTime: number; late: number }>(
    `SELECT register, count(*) FILTER (WHERE materializada_at IS NOT NULL AND NOT is_late) AS "inTime",
       count(*) FILTER (WHERE is_late) AS late
     FROM (
       SELECT e.register, e.materializada_at,
         COALESCE(e.materializada_at, now()) - COALESCE(p.detected_at, e.detected_at) > $1::interval AS is_late
       FROM edition e LEFT JOIN publication p ON p.id = e.publication_id
       WHERE e.detected_at > now() - interval '30 days') AS recent
     GROUP BY register`,
    [servedInTime],
  );
  return rows;
}

/**
 * Moves the register's date and its publication's date forward to `fechaDato`, because the site now gives this date to
 * the bytes with the hash `sha256`. Look-ups read the publication's date. No edition is made, and the time of
 * publication stays. Nothing moves when the head has other bytes, or when an operator has undone the edition of these
 * bytes. Returns whether the dates moved.
 */
export async function confirmDate(
  database: Queryable,
  register: RegisterName,
  sha256: string,
  fechaDato: string,
): Promise<boolean> {
  if (await isReverted(database, register, sha256)) return false;
  const { rowCount } = await database.query(
    `WITH moved AS (
       UPDATE register_head SET fecha_dato = $3
       WHERE register = $1 AND publication_sha256 = $2 AND fecha_dato < $3
       RETURNING published_at)
     , dated AS (
       UPDATE publication SET fecha_dato = $3, dated_at = now() FROM moved
       WHERE publication.register = $1 AND publication.sha256 = $2 AND publication.published_at = moved.published_at)
     SELECT 1 FROM moved`,
    [register, sha256, fechaDato],
  );
  return rowCount === 1;
}

/**
 * Gives a date to a publication that is in quarantine because it has no usable date, and takes it out of quarantine. It
 * is then verified like one that was just downloaded. Nothing happens if the head was published later than the date
 * says, or if another publication has the same bytes and time.
 */
export async function datePublication(database: Queryable, id: number, date: SourceDate): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE publication SET published_at = $2, fecha_dato = $3,
       state = 'descargada', state_reason = NULL, state_at = now()
     WHERE id = $1 AND ${waitsForDate}
       AND NOT EXISTS (SELECT 1 FROM register_head head
         WHERE head.register = publication.register AND head.published_at > $2)
       AND NOT EXISTS (SELECT 1 FROM publication twin WHERE twin.register = publication.register
         AND twin.sha256 = publication.sha256 AND twin.published_at = $2 AND twin.id <> publication.id)`,
    [id, date.publishedAt, date.fechaDato],
  );
  return rowCount === 1;
}

interface Reconciliation {
  register: RegisterName;
  edition: number;
  equal: boolean;
  /** Number of rows in the state. */
  rows: number;
  differences: number;
  /** Counts by kind of check, and the first differences, with natural persons masked. */
  detail: Record<string, unknown>;
}

export async function recordReconciliation(
  database: Queryable,
  { register, edition, equal, rows, differences, detail }: Reconciliation,
): Promise<void> {
  await database.query(
    `INSERT INTO reconciliation (register, edition, equal, rows, differences, detail) VALUES ($1, $2, $3, $4, $5, $6)`,
    [register, edition, equal, rows, differences, JSON.stringify(detail)],
  );
}

/** A comparison of what is served with the archive. Days and times are as the database has them. */
export interface PastReconciliation extends Reconciliation {
  id: number;
  checked_at: Date;
}

/** Returns the last comparisons of a register, or of all, the newest first. */
export async function listReconciliations(
  database: Queryable,
  register: RegisterName | null,
  maxRows: number,
): Promise<PastReconciliation[]> {
  const { rows } = await database.query<PastReconciliation>(
    `SELECT id, register, edition, checked_at, equal, rows, differences, detail FROM reconciliation
     WHERE $1::text IS NULL OR register = $1 ORDER BY id DESC LIMIT $2`,
    [register, maxRows],
  );
  return rows;
}
