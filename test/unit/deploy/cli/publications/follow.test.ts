import { expect, test } from 'vitest';
import { heartbeatLine, isSettled, stageOf } from '../../../../../deploy/cli/publications/follow.ts';
import type { Publication } from '../../../../../pipelines/editions/publications.ts';

const now = new Date();
const nothing = { state_reason: null, edition: null, materializada_at: null, avisada_at: null };

test('the stage names the state and its reason until there is an edition, then how far the edition is', () => {
  expect(stageOf({ ...nothing, state: 'descargada' })).toBe('descargada');
  expect(stageOf({ ...nothing, state: 'en_cuarentena', state_reason: 'gates: few rows' })).toBe(
    'en_cuarentena (gates: few rows)',
  );
  const edition = { ...nothing, state: 'publicada', edition: 12 };
  expect(stageOf(edition)).toBe('publicada, edition 12');
  expect(stageOf({ ...edition, materializada_at: now })).toBe('publicada, edition 12 materialised');
  expect(stageOf({ ...edition, materializada_at: now, avisada_at: now })).toBe(
    'publicada, edition 12 materialised and notified',
  );
});

test.each([
  ['descargada', null, false],
  ['publicando', null, false],
  ['publicada', null, false],
  ['publicada', now, true],
  ['en_cuarentena', null, true],
  ['rechazada', null, true],
  ['repetida', null, true],
] as const)('%s with its events notified at %s is settled: %s', (state, avisada_at, expected) => {
  expect(isSettled({ state, avisada_at } as Publication)).toBe(expected);
});

test('heartbeats of a download, a comparison and a production become lines', () => {
  const lineOf = (beat: unknown) => heartbeatLine.parse(beat);
  expect(lineOf({ bytes: 0, declaredBytes: 400e6 })).toBe('downloaded 0 MB');
  expect(lineOf({ bytes: 100.25e6, declaredBytes: 401e6 })).toBe('downloaded 100.3 MB (25 %)');
  expect(lineOf({ bytes: 5e6, declaredBytes: null })).toBe('downloaded 5 MB');
  expect(lineOf({ phase: 'scan', done: 1, total: 3, lines: 18_340_000 })).toBe(
    'comparing: scan (33 %), 18,340,000 lines',
  );
  expect(lineOf({ phase: 'merge', done: 0, total: 0, lines: 12 })).toBe('comparing: merge, 12 lines');
  expect(lineOf({ rows: 50, totalRows: 200, rowsPerSecond: 25 })).toBe(
    'publishing: 50 of 200 rows (25 %), 25 rows/s, 6 s left',
  );
});

test('what another version of the worker reports is no line, and no failure either', () => {
  for (const beat of [null, 'half', {}, { bytes: '5' }, { rows: 5 }]) {
    expect(heartbeatLine.safeParse(beat).success).toBe(false);
  }
});
