import { hash } from 'node:crypto';
import type { Logger } from '../../pipelines/runtime/log.ts';
import { type Calendar, makeCalendar } from './calendar.ts';
import type { Addition } from './store.ts';
import { withAdditions } from './store-merge.ts';
import type { CalendarData } from './types.ts';

/** The calendar that is served at this moment. */
export interface CurrentCalendar {
  calendar: Calendar;
  /** Changes with the data, and with nothing else. */
  version: string;
  updatedAt: CalendarData['updatedAt'];
}

export interface CalendarSource {
  current(): CurrentCalendar;
  /** Reads once and goes on reading. Resolves when the first read ended, well or not, or after `startWaitMs`. */
  start(): Promise<void>;
  stop(): void;
}

export interface CalendarSourceLimits {
  /** From the end of one read to the start of the next. */
  pollMs: number;
  /** A start does not wait longer for PostgreSQL: the release's own data serve. */
  startWaitMs: number;
}

/**
 * The release's calendar with operators' additions, read anew all the time. When PostgreSQL does not answer, the last known
 * one serves without limit: a calendar without the newest decree is better than none, and `actualizado_en` says its age.
 */
export function makeCalendarSource(
  shipped: CalendarData,
  read: () => Promise<readonly Addition[]>,
  { pollMs, startWaitMs }: CalendarSourceLimits,
  log: Logger,
): CalendarSource {
  let current = describe(shipped);
  let isFailing = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  const take = (additions: readonly Addition[]) => {
    const next = describe(withAdditions(shipped, additions));
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
    async start() {
      let waiting: NodeJS.Timeout | undefined;
      const longEnough = new Promise<void>((resolve) => {
        waiting = setTimeout(resolve, startWaitMs);
      });
      await Promise.race([poll(), longEnough]);
      clearTimeout(waiting);
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

function describe(data: CalendarData): CurrentCalendar {
  const version = hash('sha256', JSON.stringify(data), 'base64url').slice(0, 22);
  return { calendar: makeCalendar(data), version, updatedAt: data.updatedAt };
}
