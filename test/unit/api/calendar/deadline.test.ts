import { describe, expect, it } from 'vitest';
import type { Sector } from '../../../../schemas/http/calendar.ts';
import { answered, calendar } from './answers.ts';

const deadline = (from: string, days: number, sector: Sector = 'general') =>
  answered(calendar.deadline(from, days, sector)).data;

describe('a deadline', () => {
  it('of five days from Monday 27 July 2026 is the same in both calendars', () => {
    for (const sector of ['general', 'publico'] as const) {
      expect(deadline('2026-07-27', 5, sector)).toEqual({
        ...{ desde: '2026-07-27', dias: 5, sector, vence: '2026-08-05' },
        saltados: [
          { fecha: '2026-07-28', motivo: 'Fiestas Patrias' },
          { fecha: '2026-07-29', motivo: 'Fiestas Patrias' },
          { fecha: '2026-08-01', motivo: 'sábado' },
          { fecha: '2026-08-02', motivo: 'domingo' },
        ],
      });
    }
  });

  it('of one day from Friday 24 July 2026 differs by the non-working Monday', () => {
    expect(deadline('2026-07-24', 1).vence).toBe('2026-07-27');
    const publico = deadline('2026-07-24', 1, 'publico');
    expect(publico.vence).toBe('2026-07-30');
    expect(publico.saltados.map(({ fecha }) => fecha)).toEqual([
      ...['2026-07-25', '2026-07-26', '2026-07-27', '2026-07-28', '2026-07-29'],
    ]);
    expect(publico.saltados[2]!.motivo).toBe('Día no laborable para el sector público');
  });

  it('starts on the next business day when the notice came on a Saturday', () => {
    expect(deadline('2026-11-28', 1).vence).toBe('2026-11-30');
    expect(deadline('2026-11-28', 2).vence).toBe('2026-12-01');
  });

  it('counted in 2020 counts 29 July', () => {
    expect(deadline('2020-07-27', 1).vence).toBe('2020-07-29');
  });

  it('skips the whole of Holy Week 2026 that the law names, and nothing more', () => {
    expect(deadline('2026-04-01', 1)).toMatchObject({
      vence: '2026-04-06',
      saltados: [{ motivo: 'Jueves Santo' }, { motivo: 'Viernes Santo' }, { motivo: 'sábado' }, { motivo: 'domingo' }],
    });
  });

  it('crosses leap days', () => {
    expect(deadline('2024-02-28', 1).vence).toBe('2024-02-29');
    expect(deadline('2026-02-27', 1).vence).toBe('2026-03-02');
  });

  it('of 1 to 1,000 days moves on by at least a day each, without a gap', () => {
    for (const sector of ['general', 'publico'] as const) {
      let before = '2026-11-27';
      for (let days = 1; days <= 1_000; days += 1) {
        const { vence } = deadline('2026-11-27', days, sector);
        // One day counted from the deadline of days − 1 gives the deadline of days.
        expect(vence).toBe(deadline(before, 1, sector).vence);
        before = vence;
      }
    }
    expect(deadline('2026-11-27', 1_000).vence).toBe('2030-12-06');
  });

  it('of the public sector is provisional when it reaches days without decrees', () => {
    const provisional = (from: string, days: number, sector: Sector) =>
      answered(calendar.deadline(from, days, sector)).meta.provisional;
    expect(provisional('2026-12-30', 1, 'publico')).toBe(false);
    expect(provisional('2026-12-30', 2, 'publico')).toBe(true);
    expect(provisional('2026-12-30', 2, 'general')).toBe(false);
    // The start day is not counted.
    expect(provisional('2021-12-31', 1, 'publico')).toBe(false);
    expect(provisional('2021-12-30', 1, 'publico')).toBe(true);
  });

  it('is not covered when it starts or ends outside the years', () => {
    for (const from of ['0001-01-01', '1994-12-31', '2200-01-01', '9999-12-31'])
      expect(calendar.deadline(from, 1, 'general').ok, from).toBe(false);
    expect(calendar.deadline('2199-12-31', 1, 'general').ok).toBe(false);
    expect(calendar.deadline('2199-12-27', 1, 'general').ok).toBe(true);
    expect(calendar.deadline('2198-01-01', 1_000, 'publico').ok).toBe(false);
  });
});
