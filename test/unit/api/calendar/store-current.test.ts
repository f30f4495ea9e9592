import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { shippedCalendar } from '../../../../api/calendar/data/shipped.ts';
import {
  type Addition,
  type CalendarSource,
  makeCalendarSource,
  withAdditions,
} from '../../../../api/calendar/store.ts';

const limits = { pollMs: 20_000, startWaitMs: 2_000 };

function decree(id: number, number: string, ...dates: string[]): Addition {
  const value = {
    ...({ decree: number, scope: 'national', taxBusinessDays: true, completesYear: null } as const),
    days: dates.map((date) => ({ date, name: `de ${number}` })),
  };
  return { id, kind: 'decree', value, addedBy: 'Ana', reason: null, addedAt: new Date(Date.UTC(2026, 11, id)) };
}

describe('what is served while additions are read again and again', () => {
  let source: CalendarSource;
  let messages: string[];
  let read: () => Promise<Addition[]>;
  beforeEach(() => {
    vi.useFakeTimers();
    messages = [];
    const log = pino({}, { write: (line) => messages.push((JSON.parse(line) as { msg: string }).msg) });
    source = makeCalendarSource(shippedCalendar, () => read(), limits, log);
  });
  afterEach(() => {
    source.stop();
    vi.useRealTimers();
  });

  test('a first read that hangs holds the start back for two seconds, not longer; the release serves, then the additions', async () => {
    let arrive: (additions: Addition[]) => void = () => {};
    read = () =>
      new Promise((resolve) => {
        arrive = resolve;
      });
    const started = source.start();
    await vi.advanceTimersByTimeAsync(limits.startWaitMs);
    await started;
    const { version } = source.current();
    arrive([decree(1, 'D.S. 1', '2027-04-22')]);
    await vi.advanceTimersByTimeAsync(0);
    expect(source.current().version).not.toBe(version);
  });

  test('the last known additions serve while reads fail, which is said once; then new ones', async () => {
    read = async () => [decree(1, 'D.S. 1', '2027-04-22')];
    await source.start();
    const { version } = source.current();
    read = () => Promise.reject(new Error('connection terminated'));
    await vi.advanceTimersByTimeAsync(5 * limits.pollMs);
    expect(source.current().version).toBe(version);
    expect(messages.filter((message) => message.includes('cannot be read'))).toHaveLength(1);
    read = async () => [decree(1, 'D.S. 1', '2027-04-22'), decree(2, 'D.S. 2', '2027-04-23')];
    await vi.advanceTimersByTimeAsync(limits.pollMs);
    expect(source.current().version).not.toBe(version);
    expect(messages.at(-1)).toBe('additions to the calendar are read again');
  });

  test('what cannot be made a calendar of leaves the last one, and the next read counts again', async () => {
    read = async () => [{ ...decree(1, 'D.S. 1'), value: {} } as unknown as Addition];
    await source.start();
    expect(messages).toEqual([expect.stringContaining('cannot be read')]);
    read = async () => [decree(1, 'D.S. 1', '2027-04-22')];
    const { version } = source.current();
    await vi.advanceTimersByTimeAsync(limits.pollMs);
    expect(source.current().version).not.toBe(version);
  });

  test('no read after the stop', async () => {
    let reads = 0;
    read = async () => {
      reads += 1;
      return [];
    };
    await source.start();
    source.stop();
    await vi.advanceTimersByTimeAsync(3 * limits.pollMs);
    expect(reads).toBe(1);
  });
});

describe('the release with what operators added', () => {
  const datesOf = (additions: Addition[]) =>
    withAdditions(shippedCalendar, additions).decrees.map((each) => [each.decree, each.days.map(({ date }) => date)]);

  test('a later file of a decree replaces it, also one of the release, and comes last', () => {
    const { length } = shippedCalendar.decrees;
    const first = decree(1, 'D.S. 1', '2027-04-22');
    const ofRelease = decree(2, 'D.S. 075-2026-PCM', '2026-07-28');
    const all = datesOf([first, ofRelease, decree(3, 'D.S. 1', '2027-04-23')]);
    expect(all).toHaveLength(length + 1);
    expect(all.slice(-2)).toEqual([
      ['D.S. 075-2026-PCM', ['2026-07-28']],
      ['D.S. 1', ['2027-04-23']],
    ]);
  });

  test('each part says when it last changed', () => {
    const { updatedAt } = withAdditions(shippedCalendar, [decree(9, 'D.S. 1', '2027-04-22')]);
    expect(updatedAt).toEqual({ decrees: '2026-12-08T19:00:00-05:00', tables: shippedCalendar.updatedAt.tables });
    const old = { ...decree(9, 'D.S. 1', '2027-04-22'), addedAt: new Date('2020-01-01T00:00:00Z') };
    expect(withAdditions(shippedCalendar, [old]).updatedAt).toEqual(shippedCalendar.updatedAt);
  });
});
