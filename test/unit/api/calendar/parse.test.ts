import { describe, expect, it } from 'vitest';
import { shippedCalendar } from '../../../../api/calendar/data/shipped.ts';
import { toDate, toDayNumber } from '../../../../api/calendar/days.ts';
import { isTaxBusinessDay, makeHolidayOn } from '../../../../api/calendar/holidays.ts';
import { parseDecree, parseTable } from '../../../../api/calendar/parse.ts';
import { knownDueDates } from '../../../fixtures/calendar/due-dates.ts';

const { holidays, decrees, tables } = shippedCalendar;
const problemsOf = (parsed: { ok: boolean; problems?: string[] }) => (parsed.ok ? [] : parsed.problems!);

describe('a decree', () => {
  const file = {
    ...{ decree: 'D.S. 010-2027-PCM', scope: 'national', taxBusinessDays: true, completesYear: 2027 },
    days: [{ date: '2027-07-26', name: 'Día no laborable' }],
  };
  const read = (changes: object) => parseDecree(JSON.stringify({ ...file, ...changes }), holidays);

  it('is read as it stands, `completesYear` may be left out', () => {
    expect(read({})).toEqual({ ok: true, value: file });
    expect(read({ completesYear: undefined })).toEqual({ ok: true, value: { ...file, completesYear: null } });
  });

  it.each(decrees)('as shipped passes: $decree', (decree) => {
    expect(parseDecree(JSON.stringify(decree), holidays)).toEqual({ ok: true, value: decree });
  });

  it.each([
    [{ scope: 'lima' }, 'scope: must be "national"'],
    [{ scope: undefined }, 'scope: must be "national"'],
    [{ taxBusinessDays: false }, 'taxBusinessDays: must be true'],
    [{ days: [] }, 'days: '],
    [{ days: [{ date: '2027-02-29', name: 'Día' }] }, 'days.0.date: is no day'],
    [{ days: [{ date: '26/07/2027', name: 'Día' }] }, 'days.0.date: is no day'],
    [{ days: [{ date: '2027-07-28', name: 'Día' }] }, '2027-07-28 is a holiday already'],
    [{ days: [...file.days, ...file.days] }, '2027-07-26 is there twice'],
    [{ days: [{ date: '2200-01-02', name: 'Día' }] }, 'days.0.date: is outside 1995 to 2199'],
    [{ days: [{ date: '9999-01-04', name: 'Día' }] }, 'days.0.date: is outside 1995 to 2199'],
    [{ days: [{ date: '2027-07-26' }] }, 'days.0.name: '],
    [{ decree: ' ' }, 'decree: '],
    [{ completesYear: 27 }, 'completesYear: '],
    [{ region: 'Cusco' }, 'region'],
    [{ days: [{ date: '2027-07-26', name: 'D\ufffda no laborable' }] }, 'days.0.name: has the character U+FFFD'],
  ])('with %j is refused', (changes, problem) => {
    expect(problemsOf(read(changes)).join('\n')).toContain(problem);
  });

  it('with accents that were encoded twice is refused, and with every other spelling of a name it is read', () => {
    const named = (name: string) => read({ days: [{ date: '2027-07-26', name }] });
    for (const letter of 'áéíóúüñÁÉÍÓÚÜÑ°«»') {
      const twice = new TextDecoder('windows-1252').decode(Buffer.from(`Fiesta ${letter} de julio`));
      expect(problemsOf(named(twice)), letter).toEqual([expect.stringContaining('encoded twice')]);
      expect(named(`Fiesta ${letter} de julio`).ok, letter).toBe(true);
    }
    expect(named('Visita a SÃO PAULO').ok).toBe(true);
  });

  it.each(['', 'no JSON', '[]', 'null', '"D.S."'])('that is %j is refused', (text) => {
    expect(problemsOf(parseDecree(text, holidays))).toHaveLength(1);
  });
});

describe('a published table', () => {
  const table = { year: 2027, source: 'SUNAT, cronograma 2027', periods: knownDueDates(2027) };
  const row = table.periods['2027-03']!;
  const read = (changes: object) => parseTable(JSON.stringify({ ...table, ...changes }), holidays);
  const march = (changes: object) => read({ periods: { ...table.periods, '2027-03': { ...row, ...changes } } });

  it('is read as it stands, and may differ from the rule', () => {
    expect(read({})).toEqual({ ok: true, value: table });
    expect(march({ '0': '2027-04-13' }).ok).toBe(true);
  });

  it.each([...tables, ...[2022, 2023].map((year) => ({ year, source: 'SUNAT', periods: knownDueDates(year) }))])(
    'of $year passes',
    (published) => {
      expect(parseTable(JSON.stringify(published), holidays)).toEqual({ ok: true, value: published });
    },
  );

  it.each([
    ['on a Saturday', { '0': '2027-04-10' }, '2027-03, 0: 2027-04-10 is no business day'],
    ['on a holiday', { good_taxpayers: '2027-05-01' }, '2027-03, good_taxpayers: 2027-05-01 is no business day'],
    ['out of order', { '1': row['0'] }, `2027-03, 1: ${row['0']} is not after 0: ${row['0']}`],
    ['in another month', { good_taxpayers: '2027-05-03' }, '2027-05-03 is not in the month after the period'],
    ['of the wrong year', { '0': '2026-04-15' }, '2026-04-15 is not in the month after the period'],
    ['that does not exist', { '0': '2027-04-31' }, 'periods.2027-03.0: is no day'],
    ['of a far year', { '0': '9999-04-15' }, 'periods.2027-03.0: is outside 1995 to 2199'],
    ['missing', { '8-9': undefined }, 'periods.2027-03.8-9: '],
    ['of a digit alone', { '9': '2027-04-23' }, '"9"'],
  ])('with a date %s is refused', (_, changes, problem) => {
    expect(problemsOf(march(changes)).join('\n')).toContain(problem);
  });

  it('with a period missing or foreign is refused', () => {
    const { '2027-03': _, ...eleven } = table.periods;
    expect(problemsOf(read({ periods: eleven }))).toEqual(['period 2027-03 is missing']);
    expect(problemsOf(read({ periods: { ...table.periods, '2028-01': row } }))).toEqual([
      'period 2028-01 is not of 2027',
    ]);
    expect(problemsOf(read({ year: 2026 })).join('\n')).toContain('period 2026-01 is missing');
  });

  // Public sources contradict each other here.
  it('that is the schedule of the registers (Anexo II) is refused by name', () => {
    const holidayOn = makeHolidayOn(holidays);
    const dayBefore = (date: string) => {
      let day = toDayNumber(date) - 1;
      while (!isTaxBusinessDay(day, holidayOn)) day -= 1;
      return toDate(day);
    };
    const periods = Object.fromEntries(
      Object.entries(table.periods).map(([period, dates]) => [
        period,
        Object.fromEntries(Object.entries(dates).map(([group, date]) => [group, dayBefore(date)])),
      ]),
    );
    expect(periods['2027-01']).toMatchObject({ '0': '2027-02-12', '1': '2027-02-15' });
    expect(problemsOf(read({ periods })).join()).toContain('Anexo II');
  });

  it('with fixed calendar days (10, 11, 12 …) is refused', () => {
    const periods = Object.fromEntries(
      Object.entries(table.periods).map(([period, dates]) => [
        period,
        Object.fromEntries(
          Object.entries(dates).map(([group, date], index) => [group, `${date.slice(0, 8)}${10 + index}`]),
        ),
      ]),
    );
    expect(problemsOf(read({ periods })).length).toBeGreaterThan(10);
  });
});
