import { expect, test } from 'vitest';
import { ProgressLine, progressText } from '../../../../deploy/cli/progress.ts';

test('rows, share, rate and time left; what is not known is left out', () => {
  expect(progressText('replay', 250_000, 1_000_000, 50_000)).toBe(
    'replay: 250,000 of 1,000,000 rows (25 %), 50,000 rows/s, 15 s left',
  );
  expect(progressText('replay', 10, 0, 5)).toBe('replay: 10 rows, 5 rows/s');
  expect(progressText('replay', 0, 100, 0)).toBe('replay: 0 of 100 rows (0 %)');
});

test('at most one line a second, and always the last one; no rate of what took no time', () => {
  const said: string[] = [];
  const progress = new ProgressLine((text) => said.push(text));
  for (let rows = 1; rows <= 100; rows += 1) progress.report('verify', rows, 100);
  expect(said[0]).toBe('verify: 1 of 100 rows (1 %)');
  expect(said.at(-1)).toMatch(/^verify: 100 of 100 rows \(100 %\)/);
  expect(said.length).toBeLessThan(50);
});

test('what was said is not said again', () => {
  const said: string[] = [];
  const progress = new ProgressLine((text) => said.push(text));
  for (const rows of [12, 12, 12]) progress.report('verify', rows, 12);
  expect(said).toEqual(['verify: 12 of 12 rows (100 %)']);
});
