import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Change } from '../../../../pipelines/changes/record.ts';
import { changesTopic } from '../../../../schemas/registers.ts';
import {
  baseline,
  expectedState,
  freezeTestEdition,
  makeStreamHarness,
  nextDay,
  produceTestEdition,
  type StreamHarness,
} from '../../../support/engines/stream.ts';
import { type Python, pythonWithPackages } from '../../../support/process/python-packages.ts';

// These tests run the README's examples for data engineers unchanged.
const execute = promisify(execFile);
let harness: StreamHarness;
let python: Python;
let editions: Change[][];
const files: string[] = [];

beforeAll(async () => {
  python = await pythonWithPackages('fastavro', 'kafka-python');
  harness = await makeStreamHarness(inject('endpoints'));
  const first = baseline(200);
  editions = [first, nextDay(first, 2)];
  for (const [index, changes] of editions.entries()) {
    files.push(await freezeTestEdition(harness, index + 1, changes));
    await produceTestEdition(harness, index + 1, files[index]!);
  }
});
afterAll(() => harness?.close());

async function run(example: string, ...args: string[]): Promise<Record<string, unknown>[]> {
  const { stdout } = await execute(python.program, [`deploy/examples/${example}`, ...args], {
    env: { ...harness.environment, ...python.environment },
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('the examples in Python', () => {
  test('fold change files into the state', async () => {
    const rows = await run('read_change_file.py', ...files);
    const expected = [...expectedState(...editions)].filter(([, cells]) => cells !== null);
    expect(rows.map(({ ruc, edition: _, ...row }) => [ruc, Object.values(row)])).toEqual(expected);
  });

  test('read the topic with its five-byte header and take repeats once', async () => {
    await produceTestEdition(harness, 2, files[1]!);
    const rows = await run('read_topic.py', changesTopic(harness.prefix, 'padron_reducido'));
    const identity = (change: { edition: unknown; ruc: unknown }) => `${change.edition} ${change.ruc}`;
    expect(rows.map(({ edition, ruc }) => identity({ edition, ruc })).sort()).toEqual(
      editions.flat().map(identity).sort(),
    );
    expect(rows.find(({ edition, op }) => edition === 2 && op === 'u')).toMatchObject({
      after: { estado: 'BAJA DEFINITIVA' },
      detected_at: '2026-11-21T08:00:00+00:00',
    });
  });
});
