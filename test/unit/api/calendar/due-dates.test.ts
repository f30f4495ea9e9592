import { describe, expect, it } from 'vitest';
import { shippedCalendar } from '../../../../api/calendar/data/shipped.ts';
import { isWeekend, toDayNumber } from '../../../../api/calendar/days.ts';
import { groupOf, ruleDueDates } from '../../../../api/calendar/due-dates.ts';
import { makeHolidayOn } from '../../../../api/calendar/holidays.ts';
import { makeSchedule } from '../../../../api/calendar/schedule.ts';
import { type DueDatesByGroup, dueDateGroups, type PublishedTable } from '../../../../api/calendar/types.ts';
import { knownDueDates } from '../../../fixtures/calendar/due-dates.ts';

const holidayOn = makeHolidayOn(shippedCalendar.holidays);
const rule = (year: number) => ruleDueDates(year, holidayOn);

describe('the rule of R.S. 000281-2022', () => {
  it.each([2023, 2025, 2026])('gives the published table of %i cell by cell', (year) => {
    const published = knownDueDates(year);
    expect(Object.values(published).flatMap((row) => Object.values(row))).toHaveLength(84);
    expect(rule(year)).toEqual(published);
  });

  it.each([2024, 2027])('gives what was computed apart for %i', (year) => {
    expect(rule(year)).toEqual(knownDueDates(year));
  });

  it('does not hold for 2022: five months differ', () => {
    const [computed, published] = [rule(2022), knownDueDates(2022)];
    const different = Object.keys(published).filter((period) => computed[period]!['0'] !== published[period]!['0']);
    expect(different).toEqual(['2022-04', '2022-07', '2022-10', '2022-11', '2022-12']);
  });

  it('skips the new holidays (calendar 8.14): May 2024 on 18 June, July 2026 on 18 August', () => {
    expect(rule(2024)['2024-05']!['0']).toBe('2024-06-18');
    expect(rule(2026)['2026-07']!['0']).toBe('2026-08-18');
  });

  it('is Anexo I, not the registers of Anexo II (calendar 8.11): January 2025, digit 0, 17 February', () => {
    expect(rule(2025)['2025-01']!['0']).toBe('2025-02-17');
  });

  it('counts non-working days: good taxpayers fall due on 26 December 2025, which is one (calendar 8.12)', () => {
    expect(rule(2025)['2025-11']!.good_taxpayers).toBe('2025-12-26');
  });

  it('counts the days of the summit in Lima in November 2024: digit 0 falls due on the 18th, not the 20th', () => {
    expect(rule(2024)['2024-10']!['0']).toBe('2024-11-18');
  });

  it('finds enough business days in every month to come', () => {
    for (let year = 2023; year <= 2199; year += 1) {
      for (const [period, row] of Object.entries(rule(year))) {
        const days = dueDateGroups.map((group) => row[group]);
        expect([...days].sort(), period).toEqual(days);
        expect(new Set(days.map((day) => day.slice(0, 7))).size, period).toBe(1);
      }
    }
  });
});

describe('digits', () => {
  it('share days in pairs but for 0 and 1; digits 3 and 9 have no day of their own', () => {
    const shown = (digit: '0' | '1' | '2' | '3' | '8' | '9') => groupOf(digit, false);
    expect([shown('0'), shown('1'), shown('2'), shown('3'), shown('8'), shown('9')]).toEqual([
      ...['0', '1', '2-3', '2-3', '8-9', '8-9'],
    ]);
    expect(groupOf('0', true)).toBe('good_taxpayers');
  });
});

describe('published tables', () => {
  it.each([2025, 2026])('%i is shipped as it was published', (year) => {
    expect(shippedCalendar.tables.find((table) => table.year === year)?.periods).toEqual(knownDueDates(year));
  });

  const moved = (day: string, source: string): PublishedTable => {
    const periods: Record<string, DueDatesByGroup> = knownDueDates(2027);
    return { year: 2027, source, periods: { ...periods, '2027-03': { ...periods['2027-03']!, '0': day } } };
  };

  it('win over the rule, the later one over the earlier one', () => {
    const tables = [...shippedCalendar.tables, moved('2027-04-14', 'first'), moved('2027-04-13', 'second')];
    const march = makeSchedule(tables, holidayOn).yearOf(2027)[2]!;
    expect(march).toMatchObject({ state: 'publicado', source: 'second', dates: { '0': '2027-04-13' } });
  });

  it('raise the revision of a date that moved, and of that one alone', () => {
    const revisions = (tables: readonly PublishedTable[]) =>
      makeSchedule([...shippedCalendar.tables, ...tables], holidayOn)
        .from('2027-03-20', '0', '2026-11-27')
        .slice(0, 2)
        .map(({ period, revision }) => [period, revision]);
    const [first, second] = [moved('2027-04-14', 'first'), moved('2027-04-13', 'second')];
    expect(revisions([])).toEqual([
      ['2027-03', 0],
      ['2027-04', 0],
    ]);
    expect(revisions([first])[0]).toEqual(['2027-03', 1]);
    expect(revisions([first, first])[0]).toEqual(['2027-03', 1]);
    expect(revisions([first, second])[0]).toEqual(['2027-03', 2]);
    expect(revisions([first, second])[1]).toEqual(['2027-04', 0]);
    // A return to the first date is one more move, or calendar programs would keep the second date.
    expect(revisions([first, second, first])[0]).toEqual(['2027-03', 3]);
  });

  it('hold no weekend', () => {
    for (const { periods } of shippedCalendar.tables) {
      for (const day of Object.values(periods).flatMap((row) => Object.values(row))) {
        expect(isWeekend(toDayNumber(day)), day).toBe(false);
      }
    }
  });
});
