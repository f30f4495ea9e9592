import { describe, expect, it } from 'vitest';
import { holidays } from '../../../../api/calendar/data/shipped.ts';
import { isDay, toDate, toDayNumber, weekdayOf } from '../../../../api/calendar/days.ts';
import { holidaysIn, isTaxBusinessDay, makeHolidayOn } from '../../../../api/calendar/holidays.ts';

const holidayOn = makeHolidayOn(holidays);
const isHoliday = (day: string) => holidayOn(toDayNumber(day)) !== undefined;
const datesIn = (year: number) => [...holidaysIn(year, holidays).keys()].map(toDate);

describe('statutory holidays', () => {
  it('are 16 in 2026, each on its own date', () => {
    expect(datesIn(2026)).toEqual([
      ...['2026-01-01', '2026-04-02', '2026-04-03', '2026-05-01', '2026-06-07', '2026-06-29', '2026-07-23'],
      ...['2026-07-28', '2026-07-29', '2026-08-06', '2026-08-30', '2026-10-08', '2026-11-01', '2026-12-08'],
      ...['2026-12-09', '2026-12-25'],
    ]);
  });

  it.each([
    [1995, 12],
    [2019, 12],
    [2020, 11],
    [2021, 12],
    [2022, 14],
    [2023, 15],
    [2024, 16],
    [2199, 16],
  ])('of %i are %i', (year, count) => {
    expect(datesIn(year)).toHaveLength(count);
  });

  it.each([
    ['2026-08-06', true],
    ['2026-12-09', true],
    // The first year of each new holiday.
    ['2022-08-06', true],
    ['2021-08-06', false],
    ['2021-12-09', false],
    ['2022-12-09', true],
    ['2023-06-07', false],
    ['2024-06-07', true],
    ['2022-07-23', false],
    ['2023-07-23', true],
    ['2026-06-07', true],
    ['2026-06-29', true],
    ['2026-06-08', false],
    // D.U. 081-2020 cancelled this holiday.
    ['2019-07-29', true],
    ['2020-07-28', true],
    ['2020-07-29', false],
    ['2021-07-29', true],
    // Easter Sunday, Holy Saturday, Epiphany, 24 June and Mother's Day are no holidays.
    ['2026-04-05', false],
    ['2026-04-04', false],
    ['2026-01-06', false],
    ['2026-06-24', false],
    ['2026-05-10', false],
    // 8 December stays on its Sunday.
    ['2030-12-08', true],
  ])('%s: %s', (day, expected) => {
    expect(isHoliday(day)).toBe(expected);
  });

  it('make no Monday a substitute (calendar 8.4): 8 June 2026 is a business day', () => {
    expect(isTaxBusinessDay(toDayNumber('2026-06-08'), holidayOn)).toBe(true);
  });

  it.each([
    [2022, '04-14', '04-15'],
    [2023, '04-06', '04-07'],
    [2024, '03-28', '03-29'],
    [2025, '04-17', '04-18'],
    [2026, '04-02', '04-03'],
    [2027, '03-25', '03-26'],
    [2028, '04-13', '04-14'],
    // The earliest and the latest Easter of these two centuries are 23 March and 25 April.
    [2008, '03-20', '03-21'],
    [2038, '04-22', '04-23'],
  ])('Holy Week of %i: %s and %s', (year, thursday, friday) => {
    expect(holidayOn(toDayNumber(`${year}-${thursday}`))?.name).toBe('Jueves Santo');
    expect(holidayOn(toDayNumber(`${year}-${friday}`))?.name).toBe('Viernes Santo');
  });

  it('end where a law ends them', () => {
    const ended = holidays.map((holiday) => (holiday.law === 'Ley 31530' ? { ...holiday, lastYear: 2028 } : holiday));
    const on = (year: number) => makeHolidayOn(ended)(toDayNumber(`${year}-08-06`))?.name;
    expect([on(2028), on(2029)]).toEqual(['Batalla de Junín', undefined]);
  });
});

describe('days', () => {
  it.each(['2024-02-29', '2000-02-29', '1995-01-01', '2199-12-31', '1969-12-31'])('%s exists', (day) => {
    expect(isDay(day)).toBe(true);
    expect(toDate(toDayNumber(day))).toBe(day);
  });

  it.each([
    ...['2026-02-29', '2100-02-29', '2026-02-30', '2026-04-31', '2026-13-01', '2026-00-10', '2026-01-00', '2026-1-1'],
    ...['26-01-01', '20260101', '2026-01-01T00:00', ' 2026-01-01', '', '+002026-01-01', '２０２６-01-01'],
  ])('%j does not', (text) => {
    expect(isDay(text)).toBe(false);
  });

  it('have the right name, also before 1970', () => {
    const names = ['2026-11-28', '2026-11-29', '2026-11-30', '1969-12-31', '2024-02-29'];
    expect(names.map((day) => weekdayOf(toDayNumber(day)))).toEqual([
      ...['sábado', 'domingo', 'lunes', 'miércoles', 'jueves'],
    ]);
  });
});
