import type { DueDateState, YearRange } from '../../schemas/http/calendar.ts';
import { perYear, yearOf } from './days.ts';
import { firstYearOfRule, periodsOf, ruleDueDates, ruleSource } from './due-dates.ts';
import type { HolidayOn } from './holidays.ts';
import type { DueDate, DueDateGroup, DueDatesByGroup, PublishedTable } from './types.ts';

/** This year is always covered. An earlier year is covered if it and all years between have a published table. */
const firstYear = 2025;

/** Periods and their due dates. A year without a published table gets its dates from `ruleDueDates`. */
export interface Schedule {
  covered(today: string): YearRange;
  yearOf(year: number): readonly ScheduledPeriod[];
  /**
   * Returns one group's due dates on the day `from` or later, ascending. They end with the due date of the last covered
   * year's December.
   */
  from(from: string, group: DueDateGroup, today: string): DueDate[];
}

export interface ScheduledPeriod {
  period: string;
  state: DueDateState;
  source: string;
  dates: DueDatesByGroup;
  /** The dates from `ruleDueDates` first, then the dates of each loaded table in the order of loading. */
  history: readonly DueDatesByGroup[];
}

export function makeSchedule(tables: readonly PublishedTable[], holidayOn: HolidayOn): Schedule {
  const published = new Set(tables.map((table) => table.year));
  const scheduleOf = perYear((year) => schedulePeriods(year, tables, holidayOn));

  const covered = (today: string): YearRange => {
    let [desde, hasta] = [firstYear, Math.max(firstYear, yearOf(today) + 1)];
    while (published.has(desde - 1)) desde -= 1;
    while (published.has(hasta + 1)) hasta += 1;
    return { desde, hasta };
  };

  return {
    covered,
    yearOf: scheduleOf,
    from(from, group, today) {
      const { desde, hasta } = covered(today);
      // The period of the December before the first covered year is due in January of the first year, so it belongs to
      // the list. It is left out if it is before 2023, because the rule for due dates did not apply then.
      const periods = desde > firstYearOfRule ? [scheduleOf(desde - 1).at(-1)!] : [];
      for (let year = desde; year <= hasta; year += 1) periods.push(...scheduleOf(year));
      return periods.filter(({ dates }) => dates[group] >= from).map((period) => dueDateOf(period, group));
    },
  };
}

function schedulePeriods(
  year: number,
  tables: readonly PublishedTable[],
  holidayOn: HolidayOn,
): readonly ScheduledPeriod[] {
  const rule = ruleDueDates(year, holidayOn);
  const loaded = tables.filter((table) => table.year === year);
  return periodsOf(year).map((period) => {
    const history = [rule, ...loaded.map((table) => table.periods)].map((periods) => periods[period]!);
    return {
      period,
      state: loaded.length === 0 ? 'calculado' : 'publicado',
      source: loaded.at(-1)?.source ?? ruleSource,
      dates: history.at(-1)!,
      history,
    };
  });
}

function dueDateOf({ period, state, source, dates, history }: ScheduledPeriod, group: DueDateGroup): DueDate {
  const moves = history.filter((version, index) => index > 0 && version[group] !== history[index - 1]![group]);
  return { period, due: dates[group], state, source, revision: moves.length };
}
