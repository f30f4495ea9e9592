import type { DueDateState, YearRange } from '../../schemas/http/calendar.ts';

/** Days are texts YYYY-MM-DD and know no time zone. Years and ends of ranges are included. */

/** A statutory holiday, kept on its own date (Ley 26331: no substitute day, no move to Monday). */
export interface Holiday {
  name: string;
  law: string;
  /** A fixed day of the year, or days from Easter Sunday (−3 is Maundy Thursday). */
  on: { month: number; day: number } | { fromEasterDays: number };
  firstYear: number;
  /** null: in force. */
  lastYear: number | null;
  /** Years in which a norm cancelled it. */
  exceptions: readonly { year: number; norm: string }[];
}

/** A decree of the public sector's non-working days. For tax they are business days: no decree moves a due date. */
export interface Decree {
  decree: string;
  scope: 'national';
  taxBusinessDays: true;
  days: readonly { date: string; name: string }[];
  /** The year whose non-working days are all loaded with this decree and those before it; null: none. */
  completesYear: number | null;
}

/** The columns of the tax authority's schedule: last digits of the RUC that share a day, and the good taxpayers. */
export const dueDateGroups = ['0', '1', '2-3', '4-5', '6-7', '8-9', 'good_taxpayers'] as const;
export type DueDateGroup = (typeof dueDateGroups)[number];
export type DueDatesByGroup = Readonly<Record<DueDateGroup, string>>;

/** The due dates of one year's twelve periods as the tax authority published them. */
export interface PublishedTable {
  /** Of the periods; December falls due in the next one. */
  year: number;
  source: string;
  /** Key YYYY-MM. */
  periods: Readonly<Record<string, DueDatesByGroup>>;
}

export interface CalendarData {
  holidays: readonly Holiday[];
  /** In the order in which they were loaded; of two that name the same day the later one wins. */
  decrees: readonly Decree[];
  /** In the order in which they were loaded; of two of the same year the later one wins. */
  tables: readonly PublishedTable[];
  /** When each part was last changed, as the API writes times (offset −05:00). */
  updatedAt: { decrees: string; tables: string };
}

/** A due date as a feed needs it. */
export interface DueDate {
  /** YYYY-MM */
  period: string;
  due: string;
  state: DueDateState;
  source: string;
  /** How often the date has moved: from the rule to the first published table, from a table to a later one. Never sinks. */
  revision: number;
}

/** Not available is a value: the caller names the years that are. */
export type Answered<Answer> = ({ ok: true } & Answer) | { ok: false; covers: YearRange };

/** What an operator's file holds, or all that is wrong with it. */
export type Parsed<Value> = { ok: true; value: Value } | { ok: false; problems: string[] };
