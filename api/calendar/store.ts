import { hash } from 'node:crypto';
import { within } from '../../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import { inTransaction, type Pool, type PoolClient } from '../../pipelines/runtime/postgres.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { type Calendar, makeCalendar } from './calendar.ts';
import type { CalendarData, Decree, PublishedTable } from './types.ts';

/** A decree or table that an operator adds between releases. parse.ts has checked it. */
export type NewAddition = { kind: 'decree'; value: Decree } | { kind: 'table'; value: PublishedTable };
export type Addition = NewAddition & { id: number; addedBy: string; reason: string | null; addedAt: Date };

/**
 * Largest number of additions that are read. A century has fewer decrees and tables, so more additions are a fault and
 * must not fill the memory.
 */
const maxAdditions = 10_000;

/**
 * Stores an addition and keeps all earlier ones. The calendar uses only the last file of a decree. A year's due dates
 * come from the year's last table; the earlier tables show how the dates moved. The call may be repeated: an addition
 * that equals the newest one of its decree or year is not written, and `isNew` is false.
 */
export async function addToCalendar(
  pool: Pool,
  addition: NewAddition,
  { by, reason }: { by: string; reason: string | null },
): Promise<{ id: number; isNew: boolean; addedAt: Date }> {
  const key = addition.kind === 'decree' ? addition.value.decree : String(addition.value.year);
  const document = JSON.stringify(addition.value);
  return inTransaction(pool, async (client) => {
    // The lock lets one addition in at a time. Without it two equal additions could both be written as new.
    await client.query('LOCK TABLE calendar_addition IN SHARE ROW EXCLUSIVE MODE');
    const same = await newestIfSame(client, addition.kind, key, document);
    if (same !== null) return { id: same.id, isNew: false, addedAt: same.added_at };
    const { rows } = await client.query<{ id: number; added_at: Date }>({
      name: 'calendar-add',
      text: `INSERT INTO calendar_addition (kind, key, document, added_by, reason)
             VALUES ($1, $2, $3, $4, $5) RETURNING id, added_at`,
      values: [addition.kind, key, document, by, reason],
    });
    return { id: rows[0]!.id, isNew: true, addedAt: rows[0]!.added_at };
  });
}

async function newestIfSame(client: PoolClient, kind: string, key: string, document: string) {
  const { rows } = await client.query<{ id: number; added_at: Date; is_same: boolean }>({
    name: 'calendar-newest',
    text: `SELECT id, added_at, document = $3::jsonb AS is_same FROM calendar_addition
           WHERE kind = $1 AND key = $2 ORDER BY id DESC LIMIT 1`,
    values: [kind, key, document],
  });
  const newest = rows[0];
  return newest?.is_same ? newest : null;
}

/** Returns all additions in the order in which they were added. */
export async function readAdditions(pool: Pool): Promise<Addition[]> {
  const { rows } = await pool.query<Addition>({
    name: 'calendar-additions',
    text: `SELECT id, kind, document AS value, added_by AS "addedBy", reason, added_at AS "addedAt"
           FROM calendar_addition ORDER BY id LIMIT $1`,
    values: [maxAdditions],
  });
  return rows;
}

export interface CurrentCalendar {
  calendar: Calendar;
  /** A hash of the calendar's data. ETags contain it, and a different hash means that the calendar has changed. */
  version: string;
  updatedAt: CalendarData['updatedAt'];
  /** Since when this process serves this version. */
  servedSince: Date;
}

export interface CalendarSource {
  current(): CurrentCalendar;
  /** Starts to read additions every `pollMs`. Resolves when the first read ends or fails, or after `startWaitMs`. */
  start(): Promise<void>;
  stop(): void;
}

export interface CalendarSourceLimits {
  pollMs: number;
  /** Longest wait for PostgreSQL at the start. Then the data of the release serve alone until a read succeeds. */
  startWaitMs: number;
}

/**
 * Makes the source of the current calendar: this release's data and operators' additions. The source reads the
 * additions every `pollMs`. While PostgreSQL does not answer, the source serves the last known calendar without a time
 * limit. An answer's `actualizado_en` shows the age of the data.
 */
export function makeCalendarSource(
  shipped: CalendarData,
  read: () => Promise<readonly Addition[]>,
  { pollMs, startWaitMs }: CalendarSourceLimits,
  log: Logger,
  now: () => Date = () => new Date(),
): CalendarSource {
  let current = describe(shipped, now());
  let isFailing = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  const take = (additions: readonly Addition[]) => {
    const next = describe(withAdditions(shipped, additions), now());
    if (next.version !== current.version) {
      log.info({ version: next.version, additions: additions.length }, 'the calendar has changed');
      current = next;
    }
    if (isFailing) log.info('additions to the calendar are read again');
    isFailing = false;
  };
  const fail = (error: unknown) => {
    if (!isFailing) log.warn({ err: error }, 'additions to the calendar cannot be read: the last known ones serve');
    isFailing = true;
  };
  const poll = async (): Promise<void> => {
    await read().then(take).catch(fail);
    if (!isStopped) timer = setTimeout(() => void poll(), pollMs).unref();
  };

  return {
    current: () => current,
    start: () => within(startWaitMs, poll()).catch(() => {}),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

function describe(data: CalendarData, servedSince: Date): CurrentCalendar {
  const version = hash('sha256', JSON.stringify(data), 'base64url').slice(0, 22);
  return { calendar: makeCalendar(data), version, updatedAt: data.updatedAt, servedSince };
}

/**
 * Returns the release's data with operators' additions. A later file of a decree replaces the earlier file, so that an
 * operator can correct it. All tables of due dates are kept, in the order of loading, because a feed counts how often a
 * later table moved a date.
 */
export function withAdditions(shipped: CalendarData, additions: readonly Addition[]): CalendarData {
  const decrees = new Map<string, Decree>();
  for (const decree of shipped.decrees) decrees.set(decree.decree, decree);
  const tables: PublishedTable[] = [...shipped.tables];
  const updatedAt = { ...shipped.updatedAt };
  for (const addition of additions) {
    const addedAt = limaTime(addition.addedAt);
    if (addition.kind === 'decree') {
      // Deleting first moves the decree to the end of the map. When two decrees name the same day, the last one wins.
      decrees.delete(addition.value.decree);
      decrees.set(addition.value.decree, addition.value);
      updatedAt.decrees = later(updatedAt.decrees, addedAt);
    } else {
      tables.push(addition.value);
      updatedAt.tables = later(updatedAt.tables, addedAt);
    }
  }
  return { holidays: shipped.holidays, decrees: [...decrees.values()], tables, updatedAt };
}

// Both times have Lima's offset, so the later time is also the greater text.
function later(one: string, other: string): string {
  return one > other ? one : other;
}
