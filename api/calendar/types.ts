import type { DueDateState, YearRange } from '../../schemas/http/calendar.ts';

// Days are texts (YYYY-MM-DD) without a time zone. Ranges include both ends.

/** A statutory holiday, kept on its own date (Ley 26331: no substitute day, no move to Monday). */
export interface Holiday {
  name: string;
  law: string;
  /** A fixed day of the year, or days from Easter Sunday (−3 is Maundy Thursday). */
  on: { month: number; day: number } | { fromEasterDays: number };
  firstYear: number;
  /** Null while it is in force. */
  lastYear: number | null;
  /** Years in which a norm cancelled it. */
  exceptions: readonly { year: number; norm: string }[];
}

/** A decree of the public sector's non-working days. For tax they stay business days: no decree moves a due date. */
export interface Decree {
  decree: string;
  scope: 'national';
  taxBusinessDays: true;
  days: readonly { date: string; name: string }[];
  /** The year whose decrees are all loaded once this one is; null when this decree completes no year. */
  completesYear: number | null;
}

/** The columns of the tax authority's schedule: last digits of the RUC that share a due date, and good taxpayers. */
export const dueDateGroups = ['0', '1', '2-3', '4-5', '6-7', '8-9', 'good_taxpayers'] as const;
export type DueDateGroup = (typeof dueDateGroups)[number];
export type DueDatesByGroup = Readonly<Record<DueDateGroup, string>>;

/** The due dates of one year's twelve periods as the tax authority published them. */
export interface PublishedTable {
  /** The year of the periods; December falls due in the year after. */
  year: number;
  source: string;
  /** The key is YYYY-MM. */
  periods: Readonly<Record<string, DueDatesByGroup>>;
}

export interface CalendarData {
  holidays: readonly Holiday[];
  /** In the order of loading. When two name the same day, the later one wins. */
  decrees: readonly Decree[];
  /** In the order of loading. When two are of the same year, the later one wins. */
  tables: readonly PublishedTable[];
  /** When each part was last changed, as the API writes times (offset −05:00). */
  updatedAt: { decrees: string; tables: string };
}

/** A due date with everything that a feed shows. */
export interface DueDate {
  /** YYYY-MM */
  period: string;
  due: string;
  state: DueDateState;
  source: string;
  /** How often the date has moved, from the rule to the first table and from table to table. It never decreases. */
  revision: number;
}

/** An answer, or the years that are covered when the requested one is not. */
export type Answered<Answer> = ({ ok: true } & Answer) | { ok: false; covers: YearRange };

/** The content of an operator's file, or everything that is wrong with it. */
export type Parsed<Value> = { ok: true; value: Value } | { ok: false; problems: string[] };
