import { describe, expect, it } from 'vitest';
import { hoursAround } from '../../../../api/pages/anyone/charts.tsx';
import { weekendNorm, withNorms } from '../../../../api/pages/anyone/deadline.tsx';
import { summaryOf } from '../../../../api/pages/anyone/status.tsx';
import { duration, expectedWords, habitSentence } from '../../../../api/pages/anyone/words.ts';
import { niceCeiling } from '../../../../api/pages/chart.tsx';
import type { RegisterStatus, Status } from '../../../../api/queries/register-status.ts';
import type { Habit } from '../../../../pipelines/editions/habit.ts';
import type { StandingName } from '../../../../pipelines/editions/standing.ts';
import { answered, calendar } from '../calendar/answers.ts';

const lima = (text: string) => new Date(`${text}:00-05:00`);
const habit: Habit = {
  rhythm: 'daily',
  minutes: { usual: 160, earliest: 155, latest: 170 },
  gapDays: { usual: 1, longest: 3 },
  weekdays: [0, 1, 2, 3, 4, 5, 6],
  dayOfMonth: 15,
};

describe('scales', () => {
  it('end at a number that reads well', () => {
    expect([0, 1, 7, 11, 1_501, 29_314, 90_000, 100_000].map(niceCeiling)).toEqual([
      1, 1, 8, 15, 2_000, 30_000, 100_000, 100_000,
    ]);
  });

  it('of hours hold every time, span two hours or more, and stay within a day', () => {
    expect(hoursAround(160, 170)).toEqual({ from: 120, to: 240 });
    expect(hoursAround(0, 1_439)).toEqual({ from: 0, to: 1_440 });
    expect(hoursAround(1_430, 1_439)).toEqual({ from: 1_320, to: 1_440 });
  });
});

it('words a habit', () => {
  expect(habitSentence(null)).toContain('Todavía');
  expect(habitSentence(habit)).toBe('Se publica todos los días, casi siempre entre las 02:35 y las 02:50.');
  expect(habitSentence({ ...habit, weekdays: [1, 2, 5] })).toContain('los lunes, martes y viernes');
  expect(habitSentence({ ...habit, rhythm: 'monthly' })).toBe('Se publica una vez al mes, hacia el día 15.');
});

it('words when the next publication is expected', () => {
  const words = (at: Date, now: Date) =>
    expectedWords({ habit, expected: { at, overdueAt: at } } as RegisterStatus, now);
  expect(words(lima('2026-11-30T02:40'), lima('2026-11-29T10:00'))).toBe('mañana hacia las 02:40');
  expect(words(lima('2026-11-29T02:40'), lima('2026-11-29T10:00'))).toBe('se esperaba hoy hacia las 02:40');
  expect(words(lima('2026-12-03T02:40'), lima('2026-11-29T10:00'))).toBe('el 03/12/2026 hacia las 02:40');
});

it('words a duration', () => {
  const lasting = (minutes: number) =>
    duration(lima('2026-11-01T00:00'), new Date(lima('2026-11-01T00:00').getTime() + minutes * 60_000));
  expect([0, 59, 60, 130, 47 * 60, 72 * 60].map(lasting)).toEqual([
    '0 min',
    '59 min',
    '1 h',
    '2 h 10 min',
    '47 h',
    '3 días',
  ]);
});

it('sums up whose delays there are', () => {
  const summary = (...names: StandingName[]) =>
    summaryOf({ registers: names.map((name) => ({ standing: { name, since: null } })) } as unknown as Status);
  expect(summary('sin_datos')).toBe('Todavía no se cargó ningún registro.');
  expect(summary('al_dia', 'sin_datos')).toBe('El registro cargado está al día.');
  expect(summary('al_dia', 'al_dia')).toBe('Los 2 registros cargados están al día.');
  expect(summary('al_dia', 'autoridad')).toBe('1 de 2 registros cargados al día. Ningún atraso es nuestro.');
  expect(summary('al_dia', 'nosotros')).toBe('1 de 2 registros cargados al día. Un atraso es nuestro.');
});

it('gives each skipped day of a deadline its norm', () => {
  const { data } = answered(calendar.deadline('2026-07-24', 3, 'publico'));
  const norms = withNorms(data, calendar).map(({ fecha, norma }) => [fecha, norma]);
  expect(norms.slice(0, 2)).toEqual([
    ['2026-07-25', weekendNorm],
    ['2026-07-26', weekendNorm],
  ]);
  expect(norms[2]![1]).toMatch(/^(D\.S\.|Decreto Supremo)/);
  expect(norms[3]![1]).not.toBe(weekendNorm);
});
