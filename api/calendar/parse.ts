import { z } from 'zod';
import { isDay, isWithin, toDate, toDayNumber, yearOf } from './days.ts';
import { dueMonthOf, firstYearOfRule, periodsOf, ruleDueDates } from './due-dates.ts';
import { type HolidayOn, holidayYears, isTaxBusinessDay, makeHolidayOn } from './holidays.ts';
import {
  type Decree,
  type DueDatesByGroup,
  dueDateGroups,
  type Holiday,
  type Parsed,
  type PublishedTable,
} from './types.ts';

/** Largest number of days in one decree. The longest decree so far names eight days. */
const maxDecreeDays = 60;

const date = z
  .string()
  .refine(isDay, { error: 'is no day of the form YYYY-MM-DD', abort: true })
  .refine((text) => isWithin(yearOf(text), holidayYears), `is outside ${holidayYears.desde} to ${holidayYears.hasta}`);
/** What an accented letter becomes when UTF-8 is read as Windows-1252 and saved again. No Spanish name has it. */
const encodedTwice = /[ÃÂ](?![A-Za-z ]|$)/;
const name = z
  .string()
  .trim()
  .min(3, 'has fewer than 3 characters')
  .max(200, 'has more than 200 characters')
  .refine((text) => !encodedTwice.test(text), 'has accents that were encoded twice: write them anew')
  .refine((text) => !text.includes('\ufffd'), 'has the character U+FFFD, which stands for a lost letter');
const year = z.int().min(holidayYears.desde).max(holidayYears.hasta);

const decreeFile = z.strictObject({
  decree: name,
  scope: z.literal('national', 'must be "national": days of a region or a city are not part of this calendar'),
  taxBusinessDays: z.literal(
    true,
    'must be true: days that the decree does not keep as business days for tax cannot be loaded',
  ),
  days: z.array(z.strictObject({ date, name })).min(1).max(maxDecreeDays),
  completesYear: year.nullable().default(null),
});

const tableFile = z.strictObject({
  year,
  source: name,
  periods: z.record(z.string(), z.strictObject(Object.fromEntries(dueDateGroups.map((group) => [group, date])))),
});

/**
 * Parses an operator's file with a decree of non-working days. `completesYear` is optional. The file looks like
 * `{"decree": "D.S. 075-2026-PCM", "scope": "national", "taxBusinessDays": true, "days": [{"date": "2026-07-27",
 * "name": "…"}], "completesYear": 2026}`.
 */
export function parseDecree(text: string, holidays: readonly Holiday[]): Parsed<Decree> {
  const read = readJson(text, decreeFile);
  if (!read.ok) return read;
  const decree = read.value;
  const holidayOn = makeHolidayOn(holidays);
  const days = decree.days.map((day) => day.date);
  const problems = [
    ...days.filter((day, index) => days.indexOf(day) < index).map((day) => `${day} is there twice`),
    ...days.filter((day) => holidayOn(toDayNumber(day))).map((day) => `${day} is a holiday already`),
  ];
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: decree };
}

/**
 * Parses an operator's file with a published schedule of twelve periods. The file looks like `{"year": 2027, "source":
 * "…", "periods": {"2027-01": {"0": "2027-02-15", "1": …, "2-3": …, "4-5": …, "6-7": …, "8-9": …, "good_taxpayers": …},
 * …}}`. Each date must be a business day in the month after its period, and later than the previous group's date. A
 * date may differ from `ruleDueDates`, because the tax authority decides.
 */
export function parseTable(text: string, holidays: readonly Holiday[]): Parsed<PublishedTable> {
  const read = readJson(text, tableFile);
  if (!read.ok) return read;
  const table = read.value as PublishedTable;
  const expected = periodsOf(table.year);
  const named = Object.keys(table.periods);
  const holidayOn = makeHolidayOn(holidays);
  const problems = [
    ...expected.filter((period) => !named.includes(period)).map((period) => `period ${period} is missing`),
    ...named.filter((period) => !expected.includes(period)).map((period) => `period ${period} is not of ${table.year}`),
    ...expected.flatMap((period) => rowProblems(period, table.periods[period], holidayOn)),
  ];
  if (problems.length === 0 && isRegistersSchedule(table, holidayOn)) {
    problems.push('every date is one business day early: this is Anexo II (electronic registers), not Anexo I');
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: table };
}

function rowProblems(period: string, row: DueDatesByGroup | undefined, holidayOn: HolidayOn): string[] {
  if (row === undefined) return [];
  const { first, next } = dueMonthOf(period);
  return dueDateGroups.flatMap((group, column) => {
    const day = toDayNumber(row[group]);
    const at = `${period}, ${group}: ${row[group]}`;
    const problems: string[] = [];
    if (day < first || day >= next) problems.push(`${at} is not in the month after the period`);
    if (!isTaxBusinessDay(day, holidayOn)) problems.push(`${at} is no business day`);
    const before = dueDateGroups[column - 1];
    if (before !== undefined && row[before] >= row[group])
      problems.push(`${at} is not after ${before}: ${row[before]}`);
    return problems;
  });
}

/**
 * Whether the table is Anexo II (due dates of taxpayers' electronic registers) and not Anexo I (due dates of tax
 * returns). Each date of Anexo II is one business day before its date in Anexo I.
 */
function isRegistersSchedule({ year, periods }: PublishedTable, holidayOn: HolidayOn): boolean {
  if (year < firstYearOfRule) return false;
  const rule = ruleDueDates(year, holidayOn);
  return periodsOf(year).every((period) =>
    dueDateGroups.every((group) => {
      let day = toDayNumber(rule[period]![group]) - 1;
      while (!isTaxBusinessDay(day, holidayOn)) day -= 1;
      return periods[period]![group] === toDate(day);
    }),
  );
}

function readJson<Schema extends z.ZodType>(text: string, schema: Schema): Parsed<z.output<Schema>> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { ok: false, problems: ['the file is not JSON'] };
  }
  const read = schema.safeParse(json);
  if (read.success) return { ok: true, value: read.data };
  return {
    ok: false,
    problems: read.error.issues.map(({ path, message }) => `${path.join('.') || 'file'}: ${message}`),
  };
}
