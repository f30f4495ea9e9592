import { expect, test } from 'vitest';
import { type DayUse, forecastMonth } from '../../../../api/metering/daily-use.ts';

const month = { used: 700, available: 10_000, today: '2026-11-08', lastDay: '2026-11-30' };

/** The days before the 8th, each with these units, and then the 8th. */
function daysOf(units: readonly number[], today?: number): DayUse[] {
  const days = units.map((each, index) => ({ day: `2026-11-0${8 - units.length + index}`, units: each }));
  return today === undefined ? days : [...days, { day: '2026-11-08', units: today }];
}

test('the forecast goes on as the last seven whole days, and today ends as they do', () => {
  expect(forecastMonth(daysOf([100, 100, 100, 100, 100, 100, 100]), month)).toEqual({
    // 700 used, 100 for today, 22 days of 100.
    units: 3_000,
    fromDays: 7,
    runsOutOn: null,
  });
});

test('what today has already counts once', () => {
  const days = daysOf([100, 100, 100, 100, 100, 100, 100], 40);
  expect(forecastMonth(days, { ...month, used: 740 })?.units).toBe(3_000);
  const busy = daysOf([100, 100, 100, 100, 100, 100, 100], 400);
  expect(forecastMonth(busy, { ...month, used: 1_100 })?.units).toBe(3_300);
});

test('only the last week counts, so that a quiet start is forgotten', () => {
  const older = [{ day: '2026-10-20', units: 90_000 }];
  expect(forecastMonth([...older, ...daysOf([7, 7, 7, 7, 7, 7, 7])], { ...month, used: 49 })?.units).toBe(210);
});

test('fewer days are enough, and none is no forecast', () => {
  expect(forecastMonth(daysOf([30]), { ...month, used: 30 })).toMatchObject({ units: 720, fromDays: 1 });
  expect(forecastMonth([], month)).toBeNull();
  expect(forecastMonth(daysOf([], 5), month)).toBeNull();
});

test.each([
  // 100 more today, then 100 a day: 1,000 is reached two days later.
  [1_000, '2026-11-10'],
  [1_001, '2026-11-11'],
  [800, '2026-11-08'],
  [600, '2026-11-08'],
  [3_000, null],
  [2_999, '2026-11-30'],
])('with %i units in all, they run out on %s', (available, runsOutOn) => {
  const days = daysOf([100, 100, 100, 100, 100, 100, 100]);
  expect(forecastMonth(days, { ...month, available })?.runsOutOn).toBe(runsOutOn);
});

test('an account that uses nothing is forecast to use nothing more', () => {
  expect(forecastMonth(daysOf([0, 0]), { ...month, used: 0 })).toEqual({ units: 0, fromDays: 2, runsOutOn: null });
});
