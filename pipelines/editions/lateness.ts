import { limaDay } from '../../schemas/lima-time.ts';
import type { RegisterName } from '../../schemas/registers.ts';

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
