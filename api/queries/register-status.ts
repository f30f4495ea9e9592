import { latenessByRegister, type RegisterFreshness, readFreshness } from '../../pipelines/editions/freshness.ts';
import { type Expected, type Habit, habitOf, nextExpected } from '../../pipelines/editions/habit.ts';
import {
  type PublishedVersion,
  type PublishingHistory,
  readPublishingHistory,
  readServedFigures,
  type ServedFigures,
  timeOfPublication,
  type Verification,
} from '../../pipelines/editions/published.ts';
import { type ServedEdition, servedEditions } from '../../pipelines/editions/served.ts';
import {
  heldSinceOf,
  type Incident,
  incidentsOf,
  type Standing,
  standingOf,
} from '../../pipelines/editions/standing.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import { makeLastKnown } from '../last-known.ts';
import { throwUnavailable } from '../problems.ts';

// The state of every register as anybody may know it, and its past of 90 days. It is kept in memory, so that it is
// shown while every engine is down.

/** What look-ups of a register show now. */
export interface ServedNow extends Omit<ServedFigures, 'register'> {
  fechaDato: string;
  publishedAt: Date;
  servedAt: Date | null;
  /** Null for a correction, which has no file of its own. */
  sha256: string | null;
}

export interface RegisterStatus {
  register: RegisterName;
  title: string;
  standing: Standing;
  /** Null when the register was never loaded. */
  served: ServedNow | null;
  /** When the authority last published, also what is not served. */
  newestAt: Date | null;
  /** When the official site last answered. */
  probedAt: Date | null;
  verification: Verification | null;
  habit: Habit | null;
  expected: Expected | null;
  /** Publications of the shown days, the oldest first. */
  versions: readonly PublishedVersion[];
  /** The newest first. */
  incidents: readonly Incident[];
}

export interface Status {
  /** When all of this was read. Standings are those of that moment. */
  readAt: Date;
  registers: readonly RegisterStatus[];
}

/** Days of the past that are shown. */
export const shownDays = 90;
/** Days of the past from which habits are judged. A monthly register needs more than a year for a habit to settle. */
const habitDays = 400;
const dayMs = 86_400_000;

/**
 * A status is read again after 5 s, and asked for in the background every half minute (main.ts). While PostgreSQL is
 * down, the last one is served for a month with its age, which its readers see. Only one request in ten seconds then
 * waits for PostgreSQL, for three seconds at most.
 */
const limits = { freshMs: 10_000, servesMs: 30 * dayMs, loadTimeoutMs: 3_000, retryAfterMs: 10_000, maxEntries: 1 };
/** Pause between two reads in the background. */
export const statusEveryMs = 30_000;
/** Age from which on a reader is warned that the status could not be read again. */
export const oldStatusMs = 90_000;

/** @throws ApiProblem servicio_no_disponible, when the status was never read */
export type ReadStatus = () => Promise<Status>;

export function makeReadStatus(pool: Pool, now: () => Date): ReadStatus {
  const status = makeLastKnown((_: 'all') => loadStatus(pool, now()), limits);
  return () => status.get('all').catch(throwUnavailable);
}

async function loadStatus(pool: Pool, now: Date): Promise<Status> {
  const [freshness, served, figures, history] = await Promise.all([
    readFreshness(pool, now),
    servedEditions(pool),
    readServedFigures(pool),
    readPublishingHistory(pool, new Date(now.getTime() - habitDays * dayMs)),
  ]);
  const registers = freshness.map((each) => {
    const { register } = each;
    const own = {
      versions: history.versions.filter((version) => version.register === register),
      corrections: history.corrections.filter((correction) => correction.register === register),
      verifications: history.verifications.filter((verification) => verification.register === register),
    };
    return registerStatus(each, servedNow(served.get(register), figures.get(register)), own, now);
  });
  return { readAt: now, registers };
}

/**
 * Edition and figures are read a moment apart. If an edition became complete in between, its figures are left out until
 * the next read.
 */
function servedNow(edition: ServedEdition | undefined, figures: ServedFigures | undefined): ServedNow | null {
  if (edition === undefined || figures === undefined) return null;
  const { fechaDato, publishedAt, materialisedAt: servedAt, sha256, number } = edition;
  const own = figures.number === number ? figures : { changes: 0, rows: null, isFull: true };
  return { ...own, number, fechaDato, publishedAt, servedAt, sha256 };
}

function registerStatus(
  freshness: RegisterFreshness,
  served: ServedNow | null,
  history: PublishingHistory,
  now: Date,
): RegisterStatus {
  const { register, probed_at: probedAt, open_since: openSince, paused_at: pausedAt } = freshness;
  const publishedAt = served?.publishedAt ?? null;
  const times = history.versions.flatMap((version) => timeOfPublication(version) ?? []);
  const habit = habitOf(times);
  // The next publication is expected after the newest one, even if that is held, rejected or still on its way.
  const newestAt = newestOf(publishedAt === null ? times : [...times, publishedAt]);
  const expected = habit === null || newestAt === null ? null : nextExpected(habit, newestAt);
  const heldSince = heldSinceOf(history.versions, publishedAt);
  const facts = { publishedAt, newestAt, probedAt, openSince, heldSince, pausedAt };
  const firstDay = limaDay(new Date(now.getTime() - (shownDays - 1) * dayMs));
  const isShown = (at: Date) => limaDay(at) >= firstDay;
  return {
    register,
    title: registers[register].title,
    standing: standingOf(facts, expected, latenessByRegister[register], now),
    served,
    newestAt,
    probedAt,
    verification: history.verifications.at(-1) ?? null,
    habit,
    expected,
    versions: history.versions.filter(({ publishedAt, detectedAt }) => isShown(publishedAt ?? detectedAt)),
    incidents: incidentsOf(history, { habit, pausedAt, now }).filter(({ from, to }) => to === null || isShown(from)),
  };
}

function newestOf(times: readonly Date[]): Date | null {
  return times.reduce<Date | null>((newest, at) => (newest === null || at > newest ? at : newest), null);
}

/** Returns the incidents of all registers, the newest first. */
export function allIncidents({ registers }: Status): Incident[] {
  const all = registers.flatMap(({ incidents }) => incidents);
  return all.sort((one, other) => other.from.getTime() - one.from.getTime());
}

/** Days in Lima that are shown, the oldest first. */
export function daysShown(readAt: Date): string[] {
  return Array.from({ length: shownDays }, (_, index) => {
    return limaDay(new Date(readAt.getTime() - (shownDays - 1 - index) * dayMs));
  });
}

/** Changes by day of publication. Editions that wrote every row count nothing, as they are no changes of taxpayers. */
export function changesByDay(versions: readonly PublishedVersion[]): ReadonlyMap<string, number> {
  const changes = new Map<string, number>();
  for (const { publishedAt, changes: count, isFull } of versions) {
    if (publishedAt === null || count === null || isFull) continue;
    const day = limaDay(publishedAt);
    changes.set(day, (changes.get(day) ?? 0) + count);
  }
  return changes;
}
