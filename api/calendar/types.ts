import type { DueDateState, YearRange } from '../../schemas/http/calendar.ts';

// Days are texts (YYYY-MM-DD) without a time zone. Ranges include both ends.

/** A statutory holiday. It stays on its own date: Ley 26331 allows no substitute day and no move to Monday. */
export interface Holiday {
  name: string;
  law: string;
  /** A fixed day of the year, or the number of days after Easter Sunday (−3 is Maundy Thursday). */
  on: { month: number; day: number } | { fromEasterDays: number };
  firstYear: number;
  /** Null while the holiday is in force. */
  lastYear: number | null;
  /** Years in which a norm cancelled the holiday. */
  exceptions: readonly { year: number; norm: string }[];
}

/** A decree of the public sector's non-working days. For tax these days stay business days, so no due date moves. */
export interface Decree {
  decree: string;
  scope: 'national';
  taxBusinessDays: true;
  days: readonly { date: string; name: string }[];
  /** The year whose decrees are complete with this decree, or null when other decrees are still missing. */
  completesYear: number | null;
}

/** The columns of the tax authority's schedule: groups of last digits of the RUC, and the good taxpayers. */
export const dueDateGroups = ['0', '1', '2-3', '4-5', '6-7', '8-9', 'good_taxpayers'] as const;
export type DueDateGroup = (typeof dueDateGroups)[number];
export type DueDatesByGroup = Readonly<Record<DueDateGroup, string>>;

/** The due dates that the tax authority published for the twelve periods of one year. */
export interface PublishedTable {
  /** The year of the periods. The period of December is due in the next year. */
  year: number;
  source: string;
  /** Due dates by period (YYYY-MM). */
  periods: Readonly<Record<string, DueDatesByGroup>>;
}

export interface CalendarData {
  holidays: readonly Holiday[];
  /** In the order of loading. When two decrees name the same day, the later decree wins. */
  decrees: readonly Decree[];
  /** In the order of loading. When a year has two tables, the later table wins. */
  tables: readonly PublishedTable[];
  /** Times of the last change of decrees and of tables, with offset −05:00 as in the API's answers. */
  updatedAt: { decrees: string; tables: string };
}

export interface DueDate {
  /** YYYY-MM */
  period: string;
  due: string;
  state: DueDateState;
  source: string;
  /**
   * How often a newly loaded table has moved the date. The first table of a year is compared with the dates by the tax
   * authority's general rule (`ruleDueDates`). The number never decreases.
   */
  revision: number;
}

/** An answer, or, when the calendar does not cover the requested year, the years that it covers. */
export type Answered<Answer> = ({ ok: true } & Answer) | { ok: false; covers: YearRange };

/** The content of an operator's file, or a list of all that is wrong in the file. */
export type Parsed<Value> = { ok: true; value: Value } | { ok: false; problems: string[] };
