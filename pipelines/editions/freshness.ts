import { limaDay } from '../../schemas/lima-time.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import type { Pool, PoolClient } from '../runtime/postgres.ts';
import { isReverted } from './corrections.ts';
import type { PublicationState } from './publications.ts';

/** When a register is late. A limit that is left out does not apply. No calendar of business days: a clock. */
export interface LatenessLimits {
  /** Since the official site was last asked with success. */
  maxProbeAgeHours: number;
  /** Since what is on its way began. */
  maxOpenHours: number;
  /** Since the newest publication's own time. */
  maxPublicationAgeHours?: number;
  /** Since the end of the month that the data are of. */
  maxDaysAfterMonth?: number;
  /** Since the date of the data. */
  maxDataAgeDays?: number;
}

// Lists change when somebody resolves something, so their age says little and the probe says most.
const list: LatenessLimits = { maxProbeAgeHours: 24, maxOpenHours: 6, maxDataAgeDays: 45 };

export const latenessByRegister: Readonly<Record<RegisterName, LatenessLimits>> = {
  // Published at about 02:40 every day, and asked for until 08:30: late when a whole morning brought nothing.
  padron_reducido: { maxProbeAgeHours: 24, maxOpenHours: 6, maxPublicationAgeHours: 36 },
  padron_mensual: { maxProbeAgeHours: 24, maxOpenHours: 6, maxDaysAfterMonth: 45 },
  agentes_retencion: list,
  buenos_contribuyentes: list,
  sancionados: list,
  inhabilitaciones_judiciales: list,
  inhabilitaciones_administrativas: list,
};

/** What is known of a register's head. */
export interface DatedHead {
  /** Date of the data, YYYY-MM-DD; null before the first edition. */
  fechaDato: string | null;
  publishedAt: Date | null;
  /** When the official site last answered. */
  probedAt: Date | null;
  /** Since when the oldest publication, correction or edition is on its way; null while nothing is. */
  openSince: Date | null;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Why a register is late, for an operator; empty while it is not. Pure. */
export function lateness(head: DatedHead, limits: LatenessLimits, now: Date): string[] {
  const reasons: string[] = [];
  if (head.fechaDato === null) reasons.push('it has no edition yet');
  if (head.probedAt === null) reasons.push('its official site has never answered');
  else
    reasons.push(
      ...over('its official site last answered', hoursSince(head.probedAt, now), limits.maxProbeAgeHours, 'h'),
    );
  // A step that fails again and again ends in no state: this says that something stands still.
  if (head.openSince !== null) {
    reasons.push(...over('what is on its way began', hoursSince(head.openSince, now), limits.maxOpenHours, 'h'));
  }
  if (head.publishedAt !== null) {
    const hours = hoursSince(head.publishedAt, now);
    reasons.push(...over('its newest publication came out', hours, limits.maxPublicationAgeHours, 'h'));
  }
  if (head.fechaDato !== null) {
    const today = Date.parse(limaDay(now));
    const days = (today - Date.parse(head.fechaDato)) / dayMs;
    reasons.push(...over('its data are of', days, limits.maxDataAgeDays, 'days'));
    const daysAfterMonth = (today - endOfMonth(head.fechaDato)) / dayMs;
    reasons.push(...over('the month of its data ended', daysAfterMonth, limits.maxDaysAfterMonth, 'days'));
  }
  return reasons;
}

function over(what: string, value: number, limit: number | undefined, unit: string): string[] {
  return limit === undefined || value <= limit ? [] : [`${what} ${Math.floor(value)} ${unit} ago (at most ${limit})`];
}

function hoursSince(time: Date, now: Date): number {
  return (now.getTime() - time.getTime()) / hourMs;
}

/** The last day of the month of a date, as milliseconds. */
function endOfMonth(day: string): number {
  const [year, month] = day.split('-').map(Number);
  return Date.UTC(year!, month!, 0);
}

/** One register at a glance, named as in the database. */
export interface RegisterFreshness {
  register: RegisterName;
  /** 0: nothing yet. */
  edition: number;
  fecha_dato: string | null;
  published_at: Date | null;
  probed_at: Date | null;
  paused_at: Date | null;
  paused_by: string | null;
  paused_reason: string | null;
  /** Rows of the head's state. */
  rows: number | null;
  /** The oldest edition that is not published, materialised and notified. */
  on_its_way: number | null;
  /** Since when anything is that nobody holds back: a publication, a correction or an edition. */
  open_since: Date | null;
  /** Publications that wait for an operator. */
  quarantined: number;
  last_publication: { id: number; state: PublicationState; fecha_dato: string | null } | null;
  last_reconciliation: { edition: number; checked_at: string; equal: boolean; differences: number } | null;
  /** Why it is late; empty while it is not. */
  late: string[];
}

/** All registers in their order, also those that nothing is known of. */
export async function readFreshness(
  database: Pick<Pool | PoolClient, 'query'>,
  now: Date = new Date(),
): Promise<RegisterFreshness[]> {
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
  return rows.map((row) => ({ ...row, late: latenessOf(row, now) }));
}

function latenessOf(row: Omit<RegisterFreshness, 'late'>, now: Date): string[] {
  const { fecha_dato: fechaDato, published_at: publishedAt, probed_at: probedAt, open_since: openSince } = row;
  return lateness({ fechaDato, publishedAt, probedAt, openSince }, latenessByRegister[row.register], now);
}

/**
 * The site still has the bytes `sha256` and now says that they are the data of `fechaDato`: where they are the head's, the
 * register's date moves forward, and with it the publication's, which look-ups read. No edition is made, and the time of
 * publication stays that of the bytes. Bytes that an operator has undone confirm nothing. True if it moved.
 */
export async function confirmDate(
  database: Pick<Pool | PoolClient, 'query'>,
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
       UPDATE publication SET fecha_dato = $3 FROM moved
       WHERE publication.register = $1 AND publication.sha256 = $2 AND publication.published_at = moved.published_at)
     SELECT 1 FROM moved`,
    [register, sha256, fechaDato],
  );
  return rowCount === 1;
}

/** A comparison of the state in ClickHouse with the archive. */
export interface Reconciliation {
  register: RegisterName;
  edition: number;
  equal: boolean;
  /** Rows of the state. */
  rows: number;
  differences: number;
  /** Counts by part, and the first differences; natural persons masked. */
  detail: Record<string, unknown>;
}

export async function recordReconciliation(
  database: Pick<Pool | PoolClient, 'query'>,
  { register, edition, equal, rows, differences, detail }: Reconciliation,
): Promise<void> {
  await database.query(
    `INSERT INTO reconciliation (register, edition, equal, rows, differences, detail) VALUES ($1, $2, $3, $4, $5, $6)`,
    [register, edition, equal, rows, differences, JSON.stringify(detail)],
  );
}
