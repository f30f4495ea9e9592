import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { disappears } from '../../../../pipelines/changes/record-bytes.ts';
import { RowBinaryWriter } from '../../../../pipelines/consumers/row-binary.ts';
import { fold } from '../../../../pipelines/replay/fold.ts';
import { lastFullOf } from '../../../../pipelines/replay/plan.ts';
import type { EditionFile } from '../../../../pipelines/replay/types.ts';
import { type RegisterName, registers } from '../../../../schemas/registers.ts';
import { stateKeyOf } from '../../../../schemas/ruc.ts';
import { changesBetween, type State, writeChanges } from '../../../support/registers/change-files.ts';
import { RowBinaryReader } from '../consumers/row-binary-reader.ts';

const folder = mkdtempSync(join(tmpdir(), 'padron-fold-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const keys = {
  ruc: fc.integer({ min: 0, max: 30 }).map((number) => String(20_500_000_000 + number * 13)),
  supplier: fc.constantFrom(
    '20500000013',
    '1',
    '00000001',
    '88000000001',
    'PASAPORTE Ñ-9',
    'X'.repeat(40),
    '10100000011',
  ),
};
const cell = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom('', '-', 'ÑANDÚ "S.A.C."', '\u0001\\') },
  { weight: 10, arbitrary: fc.string({ maxLength: 12 }) },
  // A list of sanctions may be tens of kilobytes long.
  { weight: 1, arbitrary: fc.constant('é'.repeat(30_000)) },
);

interface Folded {
  key: number;
  version: number;
  row: string | null;
}

async function folded(register: RegisterName, files: readonly EditionFile[]): Promise<Folded[]> {
  const rows: Folded[] = [];
  const writer = new RowBinaryWriter(16);
  const take = (record: Parameters<Parameters<typeof fold>[2]>[0]) => {
    let row: string | null = null;
    if (record.op !== disappears) {
      writer.clear();
      writer.jsonArray(record.cellsAt(record.afterAt), record.columns.length);
      row = new RowBinaryReader(Buffer.from(writer.written())).string();
    }
    rows.push({ key: record.stateKey, version: record.edition, row });
    return undefined;
  };
  await fold(register, files, take);
  return rows;
}

describe('a fold of change files', () => {
  test.each(['padron_reducido', 'agentes_retencion', 'sancionados'] as const)(
    'of %s gives the newest row of every key once, in key order',
    async (register) => {
      const { key, columns } = registers[register];
      const row = fc.array(cell, { minLength: columns.length, maxLength: columns.length });
      const state = fc.dictionary(keys[key], row, { maxKeys: 12 });
      const history = fc.array(fc.record({ state, full: fc.boolean() }), { minLength: 1, maxLength: 6 });
      await fc.assert(
        fc.asyncProperty(history, async (editions) => {
          let before: State = new Map();
          const files: EditionFile[] = [];
          const newest = new Map<string, { version: number; row: string | null }>();
          for (const [index, { state, full }] of editions.entries()) {
            const edition = index + 1;
            const after: State = new Map(Object.entries(state));
            const changes = changesBetween(register, before, after, edition, full || edition === 1);
            for (const { ruc, after: now } of changes) {
              newest.set(ruc, { version: edition, row: now && JSON.stringify(Object.values(now)) });
            }
            files.push(writeChanges(folder, register, edition, changes));
            before = after;
          }
          const expected = [...newest]
            .sort(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
            .map(([id, { version, row }]) => ({ key: stateKeyOf(id), version, row }));
          expect(await folded(register, files)).toEqual(expected);
        }),
        { numRuns: 20 },
      );
    },
  );

  test('gives the same state when it begins at the last edition that wrote every row', async () => {
    const one: State = new Map([
      ['20500000013', ['A', '2020-01-01', 'R1']],
      ['20500000026', ['B', '2020-01-01', 'R2']],
    ]);
    const two: State = new Map([['20500000026', ['B', '2020-01-01', 'R2']]]);
    const three: State = new Map([...two, ['20500000039', ['C', '2021-01-01', 'R3']]]);
    const files = [
      writeChanges(folder, 'agentes_retencion', 1, changesBetween('agentes_retencion', new Map(), one, 1)),
      writeChanges(folder, 'agentes_retencion', 2, changesBetween('agentes_retencion', one, two, 2, true)),
      writeChanges(folder, 'agentes_retencion', 3, changesBetween('agentes_retencion', two, three, 3)),
    ];
    const live = async (some: readonly EditionFile[]) =>
      (await folded('agentes_retencion', some)).filter(({ row }) => row !== null);
    expect(lastFullOf(files)).toBe(2);
    expect(await live(files.slice(1))).toEqual(await live(files));
  });

  test('refuses a file that is not in order, of another edition, cut off, and too many of them', async () => {
    const state: State = new Map([
      ['20500000013', ['A', '', '']],
      ['20500000026', ['B', '', '']],
    ]);
    const changes = changesBetween('agentes_retencion', new Map(), state, 1);
    const good = writeChanges(folder, 'agentes_retencion', 1, changes);
    const reversed = writeChanges(folder, 'agentes_retencion', 1, changes.toReversed());
    const twice = writeChanges(folder, 'agentes_retencion', 1, [changes[0]!, changes[0]!]);
    const text = writeChanges(folder, 'agentes_retencion', 1, [{ ...changes[0]!, ruc: '2050000001' }]);
    for (const file of [reversed, twice, text, { ...good, edition: 2 }]) {
      await expect(folded('agentes_retencion', [file])).rejects.toMatchObject({ code: 'change_file_damaged' });
    }
    const none = fold('agentes_retencion', [good, good], () => undefined, { maxFiles: 1 });
    await expect(none).rejects.toMatchObject({ code: 'too_many_files' });
  });
});
