import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { gateLines, listedLines, noteStopped, publicationLine } from '../../../../deploy/cli/catalogue.ts';
import { CommandContext, exitStopped } from '../../../../deploy/cli/context.ts';
import type { Publication } from '../../../../pipelines/editions/publications.ts';

const found: Publication = {
  ...{ id: 7, register: 'padron_reducido', sha256: null, fecha_dato: null, published_at: null, validators: {} },
  ...{ url: null, bytes: null, rows: null, rejected: null, duplicates: null, gates: [], state: 'detectada' },
  ...{ state_reason: null, decided_by: null, compare_result: null, detected_at: new Date(0), downloaded_at: null },
  ...{ removed_at: null, state_at: new Date(0), edition: null, publicada_at: null },
  ...{ materializada_at: null, avisada_at: null },
};

test('a publication in one line: what is not known yet is left out', () => {
  expect(publicationLine(found)).toBe('#7  padron_reducido  no date  detectada');
  const compared = { ...found, fecha_dato: '2026-11-20', rows: 18_340_000, rejected: 3 };
  expect(publicationLine({ ...compared, state: 'publicada', edition: 12 })).toBe(
    '#7  padron_reducido  2026-11-20  publicada  edition 12  18,340,000 rows, 3 rejected',
  );
  expect(publicationLine({ ...compared, state: 'en_cuarentena', state_reason: 'gates: half the rows' })).toBe(
    '#7  padron_reducido  2026-11-20  en_cuarentena  18,340,000 rows, 3 rejected  gates: half the rows',
  );
});

test('a gate shows what was found, what is allowed, and whether it passed', () => {
  expect(gateLines([])).toEqual(['  no gate has judged it yet']);
  const gates: Publication['gates'] = [
    { gate: 'rows', value: 0.123456789, limit: 0.8, passed: false, text: 'few rows' },
    { gate: 'date', value: '2026-11-20', limit: null, passed: true, text: 'a newer day' },
    { gate: 'events', value: 1_234_567.89, limit: 5_000, passed: false, text: 'many events' },
  ];
  expect(gateLines(gates)).toEqual([
    '  FAILED  rows  0.123457  limit 0.8',
    '          few rows',
    '  passed  date  2026-11-20  limit none',
    '          a newer day',
    '  FAILED  events  1,234,570  limit 5,000',
    '          many events',
  ]);
});

test('listed rows stand in columns; those that are not shown are counted', () => {
  const lines = [
    { line: 7, reason: 'ruc_check_digit', ruc: '10*******19' },
    { line: null, reason: 'changed_since', ruc: '20990000019' },
    { line: 123_456, reason: 'columns', ruc: null },
  ];
  expect(listedLines({ lines, omitted: 0 })).toEqual([
    '  line 7          ruc_check_digit     10*******19',
    '                  changed_since       20990000019',
    '  line 123456     columns',
  ]);
  expect(listedLines({ lines: [], omitted: 12_000 })).toEqual(['  and 12,000 more']);
});

test.each([
  ['en_cuarentena', exitStopped, 'It waits for a decision: npx padron publications show 7\n'],
  ['rechazada', exitStopped, ''],
  ['publicada', 0, ''],
  ['repetida', 0, ''],
] as const)('a publication that ended %s makes the exit code %i', (state, exitCode, noted) => {
  let text = '';
  const stderr = new Writable({
    write: (chunk, _encoding, done) => {
      text += chunk;
      done();
    },
  });
  const context = new CommandContext({ environment: {}, endpointsFile: '/none', stdout: stderr, stderr });
  noteStopped(context, { ...found, state });
  expect([context.exitCode, text]).toEqual([exitCode, noted]);
});
