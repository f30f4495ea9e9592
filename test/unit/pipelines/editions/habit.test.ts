import { describe, expect, it } from 'vitest';
import { expectedAfter, type Habit, habitLimits, habitOf, nextExpected } from '../../../../pipelines/editions/habit.ts';
import { limaTime } from '../../../../schemas/lima-time.ts';

/** A moment in Lima. */
const at = (day: string, clock = '02:40') => new Date(`${day}T${clock}:00-05:00`);
const dayMs = 86_400_000;

/** Days before 2026-11-29, a Sunday, that pass the test, oldest first. */
function days(count: number, keep: (weekday: number) => boolean = () => true): Date[] {
  return Array.from(
    { length: count },
    (_, index) => new Date(at('2026-11-29').getTime() - (count - 1 - index) * dayMs),
  ).filter((day) => keep(new Date(day.getTime() - 5 * 3_600_000).getUTCDay()));
}

function habit(times: readonly Date[]): Habit {
  const found = habitOf(times);
  if (found === null) throw new Error('no habit was found');
  return found;
}

const shown = (date: Date) => limaTime(date).slice(0, 16);

it(`is not known before ${habitLimits.minDays} days with a publication, and two on a day count once`, () => {
  expect(habitOf([])).toBeNull();
  expect(habitOf(days(habitLimits.minDays - 1))).toBeNull();
  expect(habitOf(['02:40', '02:41', '02:42', '02:43'].map((clock) => at('2026-11-29', clock)))).toBeNull();
  expect(habitOf(days(habitLimits.minDays))).not.toBeNull();
});

it('is judged by Lima’s days and hours, and by the first publication of a day', () => {
  // 21:30 in Lima is the next day in UTC.
  const evenings = ['2026-11-23', '2026-11-24', '2026-11-25', '2026-11-26'].map((day) => at(day, '21:30'));
  expect(habit([...evenings, at('2026-11-26', '23:59')])).toMatchObject({
    rhythm: 'daily',
    minutes: { usual: 21 * 60 + 30, earliest: 21 * 60 + 30, latest: 21 * 60 + 30 },
  });
});

describe('a daily register', () => {
  it('is expected the next day at its usual time, and overdue after its latest usual time and a grace', () => {
    const times = days(20).map((day, index) => new Date(day.getTime() + (index % 5) * 60_000));
    const { at: next, overdueAt } = nextExpected(habit(times), at('2026-11-29'));
    expect([shown(next), shown(overdueAt)]).toEqual(['2026-11-30T02:42', '2026-11-30T04:14']);
    expect(habitLimits.graceMinutes).toBe(90);
  });

  it('that rests on weekends is expected on Monday', () => {
    const found = habit(days(42, (weekday) => weekday >= 1 && weekday <= 5));
    expect(found.weekdays).toEqual([1, 2, 3, 4, 5]);
    expect(shown(nextExpected(found, at('2026-11-27')).at)).toBe('2026-11-30T02:40');
  });

  it('that missed one Wednesday is still expected on Wednesdays', () => {
    const times = days(30).filter((day) => shown(day).slice(0, 10) !== '2026-11-18');
    expect(habit(times).weekdays).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('is foreseen for the days after now, also when publications are missing', () => {
    const found = habit(days(20));
    const foreseen = expectedAfter(found, at('2026-11-25'), at('2026-11-29', '10:00'), 3).map(shown);
    expect(foreseen).toEqual(['2026-11-30T02:40', '2026-12-01T02:40', '2026-12-02T02:40']);
  });
});

describe('a monthly register', () => {
  const monthly = habit(['2026-06-05', '2026-07-06', '2026-08-05', '2026-09-04', '2026-10-05'].map((day) => at(day)));

  it('is expected on its usual day of the next month', () => {
    expect(monthly).toMatchObject({ rhythm: 'monthly', dayOfMonth: 5 });
    expect(shown(nextExpected(monthly, at('2026-10-05')).at)).toBe('2026-11-05T02:40');
    // The publication of November came late. That of December keeps its day.
    expect(shown(nextExpected(monthly, at('2026-11-12')).at)).toBe('2026-12-05T02:40');
  });

  it('is overdue two days after its longest gap, at noon', () => {
    expect(shown(nextExpected(monthly, at('2026-10-05')).overdueAt)).toBe('2026-11-07T12:00');
  });

  it('of the last day of the month keeps to short months', () => {
    const last = habit(['2026-08-31', '2026-09-30', '2026-10-31', '2026-11-30', '2026-12-31'].map((day) => at(day)));
    expect(last.dayOfMonth).toBe(31);
    expect(shown(nextExpected(last, at('2027-01-31')).at)).toBe('2027-02-28T02:40');
  });
});

it('a list that changes when a case is decided is overdue only after its longest gap', () => {
  const list = habit(
    ['2026-09-01', '2026-09-04', '2026-09-20', '2026-09-25', '2026-10-01'].map((day) => at(day, '16:00')),
  );
  expect(list).toMatchObject({ rhythm: 'irregular', gapDays: { usual: 5, longest: 16 } });
  const { at: next, overdueAt } = nextExpected(list, at('2026-10-01', '16:00'));
  expect([shown(next), shown(overdueAt)]).toEqual(['2026-10-06T16:00', '2026-10-19T12:00']);
});
