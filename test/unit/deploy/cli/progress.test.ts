import { expect, test } from 'vitest';
import { ChangedLines, ProgressLine, progressText } from '../../../../deploy/cli/progress.ts';

test('rows, share, rate and time left; what is not known is left out', () => {
  expect(progressText('replay', 250_000, 1_000_000, 50_000)).toBe(
    'replay: 250,000 of 1,000,000 rows (25 %), 50,000 rows/s, 15 s left',
  );
  expect(progressText('replay', 10, 0, 5)).toBe('replay: 10 rows, 5 rows/s');
  expect(progressText('replay', 0, 100, 0)).toBe('replay: 0 of 100 rows (0 %)');
});

test('at most one line a second, and always the last one; no rate of what took no time', () => {
  const lines: string[] = [];
  const progress = new ProgressLine((text) => lines.push(text));
  for (let rows = 1; rows <= 100; rows += 1) progress.report('verify', rows, 100);
  expect(lines[0]).toBe('verify: 1 of 100 rows (1 %)');
  expect(lines.at(-1)).toMatch(/^verify: 100 of 100 rows \(100 %\)/);
  expect(lines.length).toBeLessThan(50);
});

test('a line is not repeated', () => {
  const lines: string[] = [];
  const progress = new ProgressLine((text) => lines.push(text));
  for (const rows of [12, 12, 12]) progress.report('verify', rows, 12);
  expect(lines).toEqual(['verify: 12 of 12 rows (100 %)']);
});

test('another kind of work starts its own clock and is shown at once', () => {
  const lines: string[] = [];
  const progress = new ProgressLine((text) => lines.push(text));
  progress.report('verify state', 1, 100);
  progress.report('verify state', 2, 100);
  progress.report('verify history', 3, 100);
  expect(lines).toEqual(['verify state: 1 of 100 rows (1 %)', 'verify history: 3 of 100 rows (3 %)']);
});

test('of two lines that are read again and again, only the one that changed is shown', () => {
  const changed = new ChangedLines();
  expect(changed.of(['downloaded 1 MB', 'attempt 2'])).toEqual(['downloaded 1 MB', 'attempt 2']);
  expect(changed.of(['downloaded 1 MB', 'attempt 2'])).toEqual([]);
  expect(changed.of(['downloaded 2 MB', 'attempt 2'])).toEqual(['downloaded 2 MB']);
  expect(changed.of(['attempt 2'])).toEqual([]);
  // Nothing could be read for a moment.
  expect(changed.of([])).toEqual([]);
  expect(changed.of(['attempt 2'])).toEqual([]);
  expect(changed.of(['attempt 3'])).toEqual(['attempt 3']);
});
