import { describe, expect, it } from 'vitest';
import { makeCalendar } from '../../../../api/calendar/calendar.ts';
import { shippedCalendar } from '../../../../api/calendar/data/shipped.ts';
import { businessDayAnswer, holidaysAnswer, type Sector } from '../../../../schemas/http/calendar.ts';
import { answered, calendar } from './answers.ts';

describe('holidays of a year', () => {
  const of = (year: number) => holidaysAnswer.parse({ success: true, ...answered(calendar.holidaysOf(year)) });

  it('are listed with the non-working days, by date, each with its norm', () => {
    const { data } = of(2026);
    expect(data).toHaveLength(18);
    expect(data.map(({ fecha }) => fecha)).toEqual(data.map(({ fecha }) => fecha).sort());
    expect(data[0]).toEqual({
      ...{ fecha: '2026-01-01', nombre: 'Año Nuevo', norma: 'D. Leg. 713, art. 6', tipo: 'feriado' },
      ...{ ambito: 'nacional', habil_tributario: false },
    });
    expect(data.find(({ fecha }) => fecha === '2026-07-27')).toEqual({
      ...{ fecha: '2026-07-27', nombre: 'Día no laborable para el sector público', norma: 'D.S. 075-2026-PCM' },
      ...{ tipo: 'no_laborable', ambito: 'nacional', habil_tributario: true },
    });
  });

  it('say of a non-working Saturday that it is no business day for tax either', () => {
    const saturday = of(2024).data.find(({ fecha }) => fecha === '2024-07-27');
    expect(saturday).toMatchObject({ tipo: 'no_laborable', habil_tributario: false });
  });

  it('hold no day of Lima alone, no Easter Sunday, and one entry a day', () => {
    const days = of(2024).data.map(({ fecha }) => fecha);
    for (const day of ['2024-11-14', '2024-11-15', '2024-11-16', '2024-03-31']) expect(days).not.toContain(day);
    expect(new Set(days).size).toBe(days.length);
  });

  it('list a day that a decree names although it is a holiday once, as the holiday', () => {
    const decree = {
      ...({ decree: 'D.S. 001-2027-PCM', scope: 'national', taxBusinessDays: true, completesYear: 2027 } as const),
      days: [{ date: '2027-05-01', name: 'Puente' }],
    };
    const wider = makeCalendar({ ...shippedCalendar, decrees: [...shippedCalendar.decrees, decree] });
    const listed = answered(wider.holidaysOf(2027)).data.filter(({ fecha }) => fecha === '2027-05-01');
    expect(listed).toMatchObject([{ tipo: 'feriado', nombre: 'Día del Trabajo' }]);
  });

  it('are provisional outside the years whose decrees are loaded', () => {
    expect([2021, 2022, 2026, 2027].map((year) => of(year).meta.provisional)).toEqual([true, false, false, true]);
    expect(of(2027).meta).toMatchObject({
      cubre: { desde: 1995, hasta: 2199 },
      no_laborables: { desde: '2022-01-01', hasta: '2026-12-31' },
    });
  });

  it.each([
    ['a far year', [2030], '2022-01-01', '2026-12-31'],
    ['the year before', [2021], '2021-01-01', '2026-12-31'],
    ['the next years', [2028, 2027], '2022-01-01', '2028-12-31'],
  ])('count as complete with %s as far as the years follow one another', (_, years, desde, hasta) => {
    const more = years.map((year) => ({ ...shippedCalendar.decrees[0]!, completesYear: year }));
    const wider = makeCalendar({ ...shippedCalendar, decrees: [...shippedCalendar.decrees, ...more] });
    expect(answered(wider.holidaysOf(2026)).meta.no_laborables).toMatchObject({ desde, hasta });
  });

  it('are all provisional while no decree completes a year, and of two runs as long the later one counts', () => {
    const without = (...years: number[]) =>
      makeCalendar({
        ...shippedCalendar,
        decrees: shippedCalendar.decrees.filter(({ completesYear }) => !years.includes(completesYear ?? 0)),
      });
    const none = answered(without(2022, 2023, 2024, 2025, 2026).holidaysOf(2026)).meta;
    expect(none).toMatchObject({ provisional: true, no_laborables: { desde: '1995-01-01', hasta: '1994-12-31' } });
    const later = answered(without(2024).holidaysOf(2026)).meta.no_laborables;
    expect(later).toMatchObject({ desde: '2025-01-01', hasta: '2026-12-31' });
  });

  it.each([1994, 2200, 0])('%i is not covered', (year) => {
    expect(calendar.holidaysOf(year)).toEqual({ ok: false, covers: { desde: 1995, hasta: 2199 } });
  });

  it.each([1995, 2199])('%i is', (year) => {
    expect(of(year).data.length).toBeGreaterThan(11);
  });
});

describe('a day', () => {
  const on = (date: string, sector: Sector = 'general') =>
    businessDayAnswer.parse({ success: true, ...answered(calendar.dayOf(date, sector)) });

  it.each([
    ['2026-11-27', 'general', true, null, 'viernes'],
    ['2026-11-28', 'general', false, 'sábado', 'sábado'],
    ['2026-11-29', 'publico', false, 'domingo', 'domingo'],
    ['2026-12-08', 'general', false, 'Inmaculada Concepción', 'martes'],
    // For a holiday on a Sunday the reason is the holiday.
    ['2026-06-07', 'general', false, 'Batalla de Arica y Día de la Bandera', 'domingo'],
    ['2026-04-05', 'general', false, 'domingo', 'domingo'],
    // A decreed day is non-working for the public sector and a business day for tax.
    ['2026-07-27', 'general', true, null, 'lunes'],
    ['2026-07-27', 'publico', false, 'Día no laborable para el sector público', 'lunes'],
    ['2025-05-02', 'general', true, null, 'viernes'],
    ['2025-05-02', 'publico', false, 'Día no laborable para el sector público', 'viernes'],
    ['2025-12-26', 'publico', false, 'Día no laborable para el sector público', 'viernes'],
    ['2024-07-27', 'publico', false, 'Día no laborable para el sector público', 'sábado'],
    // One day is named by a single source; the summit's days were for Lima and Callao only. Both are left out.
    ['2025-04-04', 'publico', true, null, 'viernes'],
    ['2024-11-14', 'publico', true, null, 'jueves'],
    ['2020-07-29', 'general', true, null, 'miércoles'],
    ['2020-07-27', 'publico', true, null, 'lunes'],
    ['2024-02-29', 'general', true, null, 'jueves'],
  ] as const)('%s, %s', (date, sector, habil, motivo, dia_semana) => {
    expect(on(date, sector).data).toEqual({ fecha: date, habil, motivo, dia_semana });
  });

  it('is provisional for the public sector alone', () => {
    const provisional = (date: string, sector: Sector) => on(date, sector).meta.provisional;
    expect([provisional('2027-01-01', 'publico'), provisional('2027-01-01', 'general')]).toEqual([true, false]);
    expect([provisional('2026-12-31', 'publico'), provisional('2021-12-31', 'publico')]).toEqual([false, true]);
  });

  it.each(['1994-12-31', '2200-01-01'])('%s is not covered', (date) => {
    expect(calendar.dayOf(date, 'general').ok).toBe(false);
  });
});
