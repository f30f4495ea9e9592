import { describe, expect, it } from 'vitest';
import { makeCalendar } from '../../../../api/calendar/calendar.ts';
import { shippedCalendar } from '../../../../api/calendar/data/shipped.ts';
import { scheduleAnswer, upcomingAnswer } from '../../../../schemas/http/calendar.ts';
import { knownDueDates } from '../../../fixtures/calendar/due-dates.ts';
import { answered, calendar, today } from './answers.ts';

const tableOf = (year: number) => ({ year, source: 'SUNAT', periods: knownDueDates(year) });
const calendarWith = (...years: number[]) =>
  makeCalendar({ ...shippedCalendar, tables: [...shippedCalendar.tables, ...years.map(tableOf)] });

describe('the schedule of a year', () => {
  it('gives every digit its group’s date, and the state of each period', () => {
    const { data, meta } = scheduleAnswer.parse({ success: true, ...answered(calendar.dueDates(2026, today)) });
    expect(data.periodos[10]).toEqual({
      ...{ periodo: '2026-11', estado: 'publicado' },
      vencimientos: {
        ...{ 0: '2026-12-17', 1: '2026-12-18', 2: '2026-12-21', 3: '2026-12-21', 4: '2026-12-22' },
        ...{ 5: '2026-12-22', 6: '2026-12-23', 7: '2026-12-23', 8: '2026-12-24', 9: '2026-12-24' },
        buenos_contribuyentes: '2026-12-28',
      },
    });
    expect(data.periodos[11]!.vencimientos['0']).toBe('2027-01-18');
    expect(meta).toMatchObject({ cubre: { desde: 2025, hasta: 2027 }, provisional: false });
    expect(meta.prorrogas).toContain('prorrogar');
  });

  it('is calculated for the next year, and published once its table is loaded', () => {
    const states = (of: typeof calendar) =>
      answered(of.dueDates(2027, today)).data.periodos.map(({ estado }) => estado);
    expect(new Set(states(calendar))).toEqual(new Set(['calculado']));
    expect(new Set(states(calendarWith(2027)))).toEqual(new Set(['publicado']));
  });

  it('covers 2025 to the year after today’s; the last second of the year in Lima is still that year', () => {
    expect(calendar.dueDates(2024, today)).toEqual({ ok: false, covers: { desde: 2025, hasta: 2027 } });
    expect(calendar.dueDates(2028, '2026-12-31')).toEqual({ ok: false, covers: { desde: 2025, hasta: 2027 } });
    expect(calendar.dueDates(2028, '2027-01-01').ok).toBe(true);
  });

  it('covers what operators’ tables reach without a gap', () => {
    const covered = (day: string, ...years: number[]) => calendarWith(...years).dueDates(1, day);
    expect(covered(today, 2024)).toEqual({ ok: false, covers: { desde: 2024, hasta: 2027 } });
    expect(covered(today, 2023)).toEqual({ ok: false, covers: { desde: 2025, hasta: 2027 } });
    expect(covered(today, 2022, 2023, 2024)).toEqual({ ok: false, covers: { desde: 2022, hasta: 2027 } });
    expect(covered('2025-06-01', 2027)).toEqual({ ok: false, covers: { desde: 2025, hasta: 2027 } });
  });

  it('of 2022 is the table’s, not the rule’s', () => {
    const { periodos } = answered(calendarWith(2022, 2023, 2024).dueDates(2022, today)).data;
    expect(periodos[10]!.vencimientos['0']).toBe('2022-12-15');
  });
});

describe('upcoming due dates', () => {
  const ask = (from: string, limit = 12, goodTaxpayer = false) => {
    const outcome = calendar.upcoming({ digit: '5', goodTaxpayer, from, today }, limit);
    return upcomingAnswer.parse({ success: true, ...answered(outcome) });
  };

  it('are listed from the day on, with the days that remain', () => {
    const { resumen, data } = ask(today, 2);
    expect(resumen).toEqual({ digito: '5', buen_contribuyente: false, desde: today });
    expect(data).toEqual([
      { periodo: '2026-11', vence: '2026-12-22', estado: 'publicado', dias_restantes: 25 },
      { periodo: '2026-12', vence: '2027-01-21', estado: 'publicado', dias_restantes: 55 },
    ]);
  });

  it('hold a date equal to the day, and not the day after', () => {
    expect(ask('2026-12-22', 1).data[0]).toMatchObject({ periodo: '2026-11', dias_restantes: 0 });
    expect(ask('2026-12-23', 1).data[0]).toMatchObject({ periodo: '2026-12' });
  });

  it('of good taxpayers are those of their column', () => {
    expect(ask(today, 1, true).data[0]).toMatchObject({ vence: '2026-12-28' });
  });

  it('turn calculated where no table is, and end with coverage', () => {
    const { data } = ask(today, 24);
    expect(data).toHaveLength(14);
    expect(data.map(({ estado }) => estado).indexOf('calculado')).toBe(2);
    expect(data.at(-1)).toMatchObject({ periodo: '2027-12', vence: '2028-01-20' });
  });

  it('of January 2025 hold the December before it', () => {
    expect(ask('2025-01-01', 2).data).toMatchObject([
      { periodo: '2024-12', vence: '2025-01-21', estado: 'calculado' },
      { periodo: '2025-01', vence: '2025-02-20', estado: 'publicado' },
    ]);
  });

  it.each(['2024-12-31', '2028-01-01'])('from %s are not covered', (from) => {
    const outcome = calendar.upcoming({ digit: '0', goodTaxpayer: false, from, today }, 12);
    expect(outcome).toEqual({ ok: false, covers: { desde: 2025, hasta: 2027 } });
  });
});
