import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { entryName, writeZip } from '../../../../../deploy/local/demo/register/publication.ts';
import { decodeRecords } from '../../../../../pipelines/changes/change-file.ts';
import type { ChangeRecord } from '../../../../../pipelines/changes/record.ts';
import type { Conflict } from '../../../../../pipelines/diff/listings.ts';
import type { CompareResult } from '../../../../../pipelines/diff/types.ts';
import { header } from '../../../../../pipelines/registers/padron-reducido.ts';
import { rucOfKey } from '../../../../../pipelines/registers/ruc-key.ts';
import { encodeWindows1252 } from '../../../../../pipelines/registers/windows-1252.ts';
import { joinLines } from '../../../../support/registers/lines.ts';
import { Harness, readContainer } from './harness.ts';
import {
  compareInModel,
  correctInModel,
  type ModelChange,
  type ModelOverlay,
  type ModelResult,
  rebaselineInModel,
  type State,
} from './model.ts';

const keys = [
  0, 7, 99_999_999, 100_000_003, 250_000_000, 399_999_999, 400_000_000, 409_000_001, 409_000_002, 499_999_999,
];
const cell = fc.constantFrom('', '-', 'A', 'ÑÁ', '"X', '----', 'LARGO '.repeat(15), '\ufffd');
const goodLine = fc
  .tuple(fc.constantFrom(...keys), fc.array(cell, { minLength: 4, maxLength: 4 }), fc.constantFrom(0x81, 0x8d, 0x9d))
  .map(([key, cells, stray]) => {
    const line = encodeWindows1252(`${rucOfKey(key)}|${cells.join('|')}|-|-|-|-|-|-|-|-|-|-|`);
    return Uint8Array.from(line, (byte) => (byte === 0x81 ? stray : byte));
  });
const badLine = fc.tuple(goodLine, fc.constantFrom('pipe', 'digit', 'tail', 'control', 'prefix')).map(([line, how]) => {
  const text = Buffer.from(line).toString('latin1');
  const broken = {
    pipe: `${text}|`,
    digit: text.slice(0, 10) + ((Number(text[10]) + 1) % 10) + text.slice(11),
    tail: `${text.slice(0, -1)}`,
    control: `${text.slice(0, 12)}\u0007${text.slice(12)}`,
    prefix: `99${text.slice(2)}`,
  }[how];
  return new Uint8Array(Buffer.from(broken!, 'latin1'));
});
const line = fc.oneof({ weight: 6, arbitrary: goodLine }, { weight: 1, arbitrary: badLine });
// There is always a good row, since a publication without one is refused.
const lines = fc.tuple(goodLine, fc.array(line, { maxLength: 13 })).map(([one, others]) => [one, ...others]);
const publication = fc.record({ lines, lineEnd: fc.constantFrom('\n', '\r\n'), lastLineEnd: fc.boolean() });
type Publication = typeof publication extends fc.Arbitrary<infer P> ? P : never;

const columns = fc.subarray(['nombre', 'estado', 'condicion', 'ubigeo', 'tipo_via'], { minLength: 1 });
const step = fc.oneof(
  { weight: 4, arbitrary: publication.map((text) => ({ kind: 'compare' as const, text })) },
  { weight: 3, arbitrary: fc.nat(3).map((back) => ({ kind: 'correct' as const, back })) },
  // Another parser may have made the head from any text.
  {
    weight: 1,
    arbitrary: fc.tuple(publication, lines, columns).map(([text, previous, known]) => ({
      kind: 'rebaseline' as const,
      ...{ text, previous, known },
    })),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const strip = ({ op, ruc, before, after, line }: ChangeRecord) => ({ op, ruc, before, after, line });
const emptyMarkers = ['', '-', '--', '----', '-.-'];

/** Runs the engine and the model side by side. */
class Chain {
  readonly harness = new Harness();
  state: State | null = null;
  overlay: ModelOverlay[] = [];
  /** One element per edition. */
  readonly changes: ModelChange[][] = [];
  /** Editions that state every row, also when a re-baseline left only changed rows. They cannot be undone. */
  readonly fullEditions = [1];

  async write(path: string, { lines, lineEnd, lastLineEnd }: Publication): Promise<void> {
    const text = joinLines([header, ...lines], lineEnd);
    const content = lastLineEnd ? text : text.subarray(0, text.length - lineEnd.length);
    await writeZip(path, [{ name: entryName, content }], 6);
  }

  async take(step: Step): Promise<void> {
    const { harness } = this;
    if (step.kind === 'correct') return this.correct(Math.max(1, this.changes.length - step.back));
    await this.write(harness.publicationPath, step.text);
    if (step.kind === 'compare' || this.state === null) {
      const expected = compareInModel(this.state, step.text.lines);
      await this.checkRead(await harness.compare(), step.text, expected);
      return;
    }
    const publicationPath = `${harness.folder}/previous.zip`;
    await this.write(publicationPath, { ...step.text, lines: step.previous });
    const overlayPath = harness.editions.at(-1)!.overlayFile?.path ?? null;
    const expected = rebaselineInModel(this.state, step.previous, this.overlay, step.known, step.text.lines);
    const result = await harness.compare({ previous: { publicationPath, overlayPath, knownColumns: step.known } });
    this.fullEditions.push(this.changes.length + 1);
    await this.checkRead(result, step.text, expected);
    expect(result.unchanged).toBe(0);
  }

  async correct(corrects: number): Promise<void> {
    const { harness } = this;
    if (this.state === null) return;
    const undone = this.changes[corrects - 1]!;
    if (this.fullEditions.includes(corrects)) {
      await expect(harness.correct(corrects)).rejects.toMatchObject({ code: 'not_correctable' });
      return;
    }
    const expected = correctInModel(this.state, undone, this.overlay);
    const result = await harness.correct(corrects);
    const conflicts: Conflict[] =
      result.conflictFile === null
        ? []
        : readFileSync(result.conflictFile.path, 'utf8')
            .trimEnd()
            .split('\n')
            .map((text) => JSON.parse(text) as Conflict);
    expect(conflicts).toEqual(expected.conflicts.map((conflict) => ({ edition: corrects, ...conflict })));
    expect(result.conflicts).toBe(conflicts.length);
    for await (const change of decodeRecords<ChangeRecord>(result.changeFile.path))
      expect(change.corrects).toBe(corrects);
    await this.check(result, expected);
  }

  async checkRead(result: CompareResult, { lines }: Publication, expected: ModelResult): Promise<void> {
    const rejects = this.harness.rejects(result).map(({ line, reason }) => ({ line, reason }));
    const order = (list: { line: number; reason: string }[]) => list.map((one) => `${one.line} ${one.reason}`).sort();
    expect(order(rejects)).toEqual(order(expected.rejected));
    const repaired = expected.rejected.filter(({ reason }) => reason === 'control_byte').length;
    expect(result).toMatchObject({ lines: lines.length, kept: expected.kept, repaired });
    await this.check(result, expected);
  }

  async check(result: CompareResult, expected: Pick<ModelResult, 'state' | 'changes' | 'overlay'>): Promise<void> {
    const changes: ChangeRecord[] = [];
    for await (const change of decodeRecords<ChangeRecord>(result.changeFile.path)) changes.push(change);
    expect(changes.map(strip)).toEqual(expected.changes);
    expect(result.overlayFile === null ? [] : await readContainer(result.overlayFile.path)).toEqual(
      withoutBranches(expected.overlay),
    );
    const count = (op: string) => changes.filter((change) => change.op === op).length;
    const [baseline, inserted, updated, deleted] = ['r', 'c', 'u', 'd'].map(count);
    expect(result).toMatchObject({ stateRows: expected.state.size, baseline, inserted, updated, deleted });
    const { company, other } = result.changedByKind;
    expect(company.rows + other.rows).toBe(expected.state.size);
    const empty = (name: string) =>
      [...expected.state.values()].filter((row) => emptyMarkers.includes(row[name]!)).length;
    expect(result.emptyByColumn).toEqual(Object.fromEntries(result.columns.map((name) => [name, empty(name)])));
    this.state = expected.state;
    this.overlay = expected.overlay;
    this.changes.push(expected.changes);
  }
}

/** A nullable row in the form in which avsc reads it. */
function withoutBranches(overlay: readonly ModelOverlay[]): unknown {
  return JSON.parse(JSON.stringify(overlay));
}

it('any chain of editions agrees with plain maps, and can be rebuilt bit for bit from its first or last full edition', async () => {
  const first = publication.map((text) => ({ kind: 'compare' as const, text }));
  const steps = fc.tuple(first, first, fc.array(step, { minLength: 1, maxLength: 3 }));
  await fc.assert(
    fc.asyncProperty(steps, async ([one, two, others]) => {
      const chain = new Chain();
      try {
        for (const each of [one, two, ...others]) await chain.take(each);
        const { harness } = chain;
        const files = harness.workFiles();
        const last = harness.editions.length;
        for (const from of new Set([1, chain.fullEditions.at(-1)!])) {
          const rebuilt = harness.workFiles(await harness.rebuild(from));
          // A rebuild from the last full edition on does not make the index of the edition before.
          if (from === 1 || from < last) expect(rebuilt).toEqual(files);
          else expect(files).toMatchObject(rebuilt);
        }
      } finally {
        chain.harness.remove();
      }
    }),
    { numRuns: 25 },
  );
}, 120_000);
