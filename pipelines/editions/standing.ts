import type { RegisterName } from '../../schemas/registers.ts';
import type { LatenessLimits } from './freshness.ts';
import { type Expected, type Habit, nextExpected } from './habit.ts';
import type { PublishedVersion, PublishingHistory } from './published.ts';

// Who is behind with a register: nobody, the authority, quality control, or we. And what went wrong before.

/** Limits of minutes beyond which the delay is ours. */
export const standingLimits = {
  /** From the first sight of a publication until look-ups show it. */
  maxOwnDelayMinutes: 60,
  /** From when the authority is overdue until we have asked its site again. */
  maxUnwatchedMinutes: 120,
} as const;

/**
 * - `al_dia`: we serve the newest publication that can be expected.
 * - `autoridad`: the authority is later than usual, and we have asked its site since.
 * - `retenida`: a newer publication waits for an operator or was rejected, or an operator has paused the register.
 * - `nosotros`: a newer publication is known and not served in time, or the site was not asked in time.
 * - `sin_datos`: the register was never loaded.
 */
export const standings = ['al_dia', 'autoridad', 'retenida', 'nosotros', 'sin_datos'] as const;
export type StandingName = (typeof standings)[number];

export interface Standing {
  name: StandingName;
  /** Since when. Null for `al_dia` and `sin_datos`, and when the site was never asked. */
  since: Date | null;
}

export interface StandingFacts {
  /** Time of publication of the served edition. Null when there is none. */
  publishedAt: Date | null;
  /** When the authority last published, also what is not served. */
  newestAt: Date | null;
  /** When the official site last answered. */
  probedAt: Date | null;
  /** When the oldest unfinished work began. */
  openSince: Date | null;
  /** Since when a publication that is newer than the served one is held or rejected. */
  heldSince: Date | null;
  pausedAt: Date | null;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** @param expected by the register's habit; null when it is not known, and then the limits of lateness decide alone */
export function standingOf(
  facts: StandingFacts,
  expected: Expected | null,
  limits: Pick<LatenessLimits, 'maxProbeAgeHours' | 'maxPublicationAgeHours'>,
  now: Date,
): Standing {
  const { publishedAt, newestAt, probedAt, openSince, heldSince, pausedAt } = facts;
  const isPast = (from: Date, afterMs: number) => now.getTime() - from.getTime() > afterMs;
  if (heldSince !== null || pausedAt !== null) return { name: 'retenida', since: heldSince ?? pausedAt };
  if (openSince !== null && isPast(openSince, standingLimits.maxOwnDelayMinutes * minuteMs))
    return { name: 'nosotros', since: openSince };
  if (publishedAt === null) return { name: 'sin_datos', since: null };
  if (probedAt === null || isPast(probedAt, limits.maxProbeAgeHours * hourMs))
    return { name: 'nosotros', since: probedAt };
  const due = expected ?? dueByLimit(newestAt ?? publishedAt, limits.maxPublicationAgeHours);
  if (due === null || !isPast(due.overdueAt, 0)) return { name: 'al_dia', since: null };
  if (probedAt >= due.at) return { name: 'autoridad', since: due.at };
  const isUnwatched = isPast(due.overdueAt, standingLimits.maxUnwatchedMinutes * minuteMs);
  return isUnwatched ? { name: 'nosotros', since: due.overdueAt } : { name: 'al_dia', since: null };
}

function dueByLimit(newestAt: Date, maxAgeHours: number | undefined): Expected | null {
  if (maxAgeHours === undefined) return null;
  const overdueAt = new Date(newestAt.getTime() + maxAgeHours * hourMs);
  return { at: overdueAt, overdueAt };
}

/**
 * Returns since when a publication newer than the served one is held or rejected.
 * @param versions of one register
 */
export function heldSinceOf(versions: readonly PublishedVersion[], publishedAt: Date | null): Date | null {
  const held = versions.filter(
    (version) =>
      (version.state === 'en_cuarentena' || version.state === 'rechazada') &&
      (version.publishedAt === null || publishedAt === null || version.publishedAt > publishedAt),
  );
  const times = held.map(({ stateAt }) => stateAt.getTime());
  return times.length === 0 ? null : new Date(Math.min(...times));
}

/** `verificacion`: a check found rows that differ. `correccion`: an edition was undone. Others as in `standings`. */
export type IncidentKind = 'autoridad' | 'retenida' | 'nosotros' | 'verificacion' | 'correccion';

export interface Incident {
  register: RegisterName;
  kind: IncidentKind;
  from: Date;
  /** Null while it lasts. */
  to: Date | null;
  /** The edition that it is about, when there is one. */
  edition: number | null;
}

/**
 * Returns what went wrong with a register, the newest first.
 * @param history of this register alone, the oldest first
 * @param pausedAt since when an operator holds the register's new editions back, or null
 */
export function incidentsOf(
  history: PublishingHistory,
  { habit, pausedAt, now }: { habit: Habit | null; pausedAt: Date | null; now: Date },
): Incident[] {
  const found = [
    ...history.versions.flatMap((version) => heldOrLate(version, pausedAt, now)),
    ...(habit?.rhythm === 'daily' ? overdueTimes(history.versions, habit) : []),
    ...differences(history.verifications),
    ...history.corrections.map(({ register, number, detectedAt, servedAt }): Incident => {
      return { register, kind: 'correccion', from: detectedAt, to: servedAt, edition: number };
    }),
  ];
  return found.sort((one, other) => other.from.getTime() - one.from.getTime());
}

function heldOrLate(version: PublishedVersion, pausedAt: Date | null, now: Date): Incident[] {
  const { register, state, detectedAt, stateAt, servedAt, isDecided, isFull, edition } = version;
  if (state === 'en_cuarentena') return [{ register, kind: 'retenida', from: stateAt, to: null, edition }];
  if (isDecided) {
    const to = state === 'rechazada' ? stateAt : servedAt;
    return [{ register, kind: 'retenida', from: detectedAt, to, edition }];
  }
  const isUnfinished = edition === null && ['detectada', 'descargada', 'verificada', 'comparada'].includes(state);
  if (edition === null && !isUnfinished) return [];
  if (isUnfinished && pausedAt !== null) return [{ register, kind: 'retenida', from: pausedAt, to: null, edition }];
  const tookMs = (servedAt ?? now).getTime() - detectedAt.getTime();
  // The first edition, or one that writes every row again, takes longer and delays nobody.
  const isLate = tookMs > standingLimits.maxOwnDelayMinutes * minuteMs && !isFull;
  return isLate ? [{ register, kind: 'nosotros', from: detectedAt, to: servedAt, edition }] : [];
}

/** Times when the authority was later than it usually is, by today's habit. */
function overdueTimes(versions: readonly PublishedVersion[], habit: Habit): Incident[] {
  const dated = versions.flatMap(({ register, publishedAt, edition }) =>
    publishedAt === null ? [] : [{ register, publishedAt, edition }],
  );
  return dated.slice(1).flatMap(({ register, publishedAt, edition }, index): Incident[] => {
    const { at, overdueAt } = nextExpected(habit, dated[index]!.publishedAt);
    return publishedAt > overdueAt ? [{ register, kind: 'autoridad', from: at, to: publishedAt, edition }] : [];
  });
}

/** Checks that found differences, one incident until the next check that found none. */
function differences(verifications: PublishingHistory['verifications']): Incident[] {
  const found: Incident[] = [];
  for (const { register, equal, checkedAt, edition } of verifications) {
    const open = found.at(-1)?.to === null ? found.at(-1) : undefined;
    if (equal && open !== undefined) open.to = checkedAt;
    else if (!equal && open === undefined)
      found.push({ register, kind: 'verificacion', from: checkedAt, to: null, edition });
  }
  return found;
}
