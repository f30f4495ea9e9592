import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { KernelMemory } from '../../../../../pipelines/diff/kernel/kernel.ts';
import { openIndex, RowMatcher } from '../../../../../pipelines/diff/large/edition-index.ts';
import { IndexBuilder } from '../../../../../pipelines/diff/large/index-builder.ts';
import { newPage, pagesOf } from '../../../../../pipelines/diff/large/pages.ts';
import { largeModule } from '../../../../../pipelines/diff/large/reading.ts';
import { workFileName } from '../../../../../pipelines/diff/work-files.ts';
import { header } from '../../../../../pipelines/registers/padron-reducido.ts';
import { keyLimit, noKey, rucOfKey } from '../../../../../pipelines/registers/ruc-key.ts';
import { encodeWindows1252 } from '../../../../../pipelines/registers/windows-1252.ts';
import { officialExampleLines } from '../../../../fixtures/padron-reducido/examples.ts';
import { type PlainText, readPlainly } from './plain-reader.ts';

const { format } = largeModule('padron_reducido');
const page = newPage(new KernelMemory());

/** Reads a text in pieces of these lengths, one after another and again from the first. */
async function readByKernel(text: Buffer, lengths: readonly number[], seed: { first: number; second: number }) {
  async function* pieces() {
    for (let from = 0, turn = 0; from < text.length; turn += 1) {
      const length = lengths[turn % lengths.length]!;
      yield Buffer.from(text.subarray(from, from + length));
      from += length;
    }
  }
  const found: PlainText = { rows: [], emptyNames: 0, repairable: [] };
  for await (const { bytes, rows } of pagesOf(pieces(), format, seed, page)) {
    const repairable = new Set(rows.repairable.subarray(0, rows.repairables));
    for (let row = 0; row < rows.count; row += 1) {
      const key = rows.keys[row]!;
      if (repairable.has(row)) found.repairable.push(found.rows.length);
      found.rows.push({
        key,
        text: bytes.toString('latin1', rows.starts[row], rows.ends[row]),
        hash: key === noKey || repairable.has(row) ? null : [rows.hash1[row]!, rows.hash2[row]!],
      });
    }
    found.emptyNames += rows.emptyNames;
  }
  return found;
}

const goodLine = fc.oneof(
  fc.constantFrom(...officialExampleLines).map(encodeWindows1252),
  fc
    .tuple(fc.nat(keyLimit - 1), fc.uint8Array({ maxLength: 120 }), fc.nat(40))
    .map(([key, name, spaces]) =>
      Buffer.concat([
        Buffer.from(`${rucOfKey(key)}|`),
        Buffer.from(name.map((byte) => (byte === 124 || byte < 32 ? 65 : byte))),
        Buffer.from(`${' '.repeat(spaces)}|A|H|${'-|'.repeat(11)}`),
      ]),
    ),
);
const byte = fc.constantFrom(0, 9, 10, 13, 31, 32, 47, 48, 57, 58, 123, 124, 125, 0x80, 0x8d, 0xa0, 0xfc, 0xff);
type Damage = (line: Buffer<ArrayBuffer>) => Buffer<ArrayBuffer>;
/** Damages a line: other bytes, cut, of a length about the longest allowed, pipes around 256 and its multiples. */
const damage = fc.oneof(
  fc.record({ at: fc.nat(300), byte }).map(
    ({ at, byte }): Damage =>
      (line) => {
        const edited = Buffer.from(line);
        if (edited.length > 0) edited[at % edited.length] = byte;
        return edited;
      },
  ),
  fc.nat(200).map(
    (bytes): Damage =>
      (line) =>
        line.subarray(0, bytes),
  ),
  fc.nat(200).map(
    (bytes): Damage =>
      (line) =>
        line.subarray(bytes),
  ),
  fc.tuple(fc.nat(40), fc.integer({ min: 995, max: 1005 })).map(
    ([at, length]): Damage =>
      (line) => {
        const missing = Buffer.alloc(Math.max(0, length - line.length), 'L');
        return Buffer.concat([line.subarray(0, 12 + at), missing, line.subarray(12 + at)]);
      },
  ),
  fc.constantFrom(1, 240, 241, 242, 255, 256, 512, 768).map(
    (pipes): Damage =>
      (line) =>
        Buffer.concat([line, Buffer.alloc(pipes, '|')]),
  ),
);
const lineEnd = fc.constantFrom('\n', '\n', '\r\n', '\r\n', '\r', '\n\n', '\r\r\n', '|\n');
const line = fc
  .tuple(goodLine, fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(damage, { maxLength: 3 })), lineEnd)
  .map(([good, damages, end]) =>
    Buffer.concat([damages.reduce((bytes, make) => make(bytes), Buffer.from(good)), Buffer.from(end)]),
  );
const seeds = fc.record({ first: fc.nat(0xffffffff), second: fc.nat(0xffffffff) });

it('reads damaged text as the plain reader does, however it is cut into pieces', async () => {
  const lengths = fc.array(fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 60, max: 3_000 })), {
    minLength: 1,
    maxLength: 4,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 30 }),
      lengths,
      seeds,
      fc.boolean(),
      async (lines, cut, seed, ends) => {
        const rows = Buffer.concat(lines);
        const text = ends ? rows : rows.subarray(0, Math.max(0, rows.length - 1));
        const found = await readByKernel(
          Buffer.concat([Buffer.from(encodeWindows1252(header)), Buffer.from('\n'), text]),
          cut,
          seed,
        );
        expect(found).toEqual(
          text.length === 0 ? { rows: [], emptyNames: 0, repairable: [] } : readPlainly(text, seed, format.cells),
        );
      },
    ),
    { numRuns: 1_500 },
  );
}, 60_000);

const folder = mkdtempSync(join(tmpdir(), 'padron-kernel-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('lists the rows that an index does not have as they are, and repeats', () => {
  // Few keys, so that rows repeat and stand at the edges of words and buckets.
  const edges = [0, 1, 31, 32, 33, 524_287, 524_288, 524_289, keyLimit - 2, keyLimit - 1];
  const key = fc.oneof(fc.constantFrom(...edges), fc.nat(200), fc.nat(keyLimit - 1));
  const row = fc.record({ key: fc.oneof({ weight: 9, arbitrary: key }, fc.constant(noKey)), hash: fc.nat(3) });
  fc.assert(
    fc.property(fc.uniqueArray(key, { maxLength: 60 }), fc.array(row, { maxLength: 1_200 }), (keys, rows) => {
      const sha256 = 'a'.repeat(64);
      const builder = new IndexBuilder(folder, 'attempt', null);
      const known = keys.sort((one, other) => one - other);
      for (const one of known) builder.set(one, one % 2, 7, one);
      builder.finish(workFileName('padron_reducido', sha256, 'index'), {
        ...{ register: 'padron_reducido', edition: 1, changeFileSha256: sha256, parserVersion: 1, columns: [] },
        ...{ hashSeed: { first: 1, second: 2 }, rowsByKind: {}, emptyByColumn: {}, segments: [] },
      });
      const memory = new KernelMemory();
      const index = openIndex(folder, 'padron_reducido', sha256, memory);
      const of = newPage(memory);
      const matcher = new RowMatcher(memory, index);
      const seen = new Set<number>();
      const expected: number[] = [];
      for (const [at, { key, hash }] of rows.entries()) {
        of.rows.keys[at] = key;
        of.rows.hash1[at] = hash >> 1;
        of.rows.hash2[at] = 7 - (hash & 1);
        const isKnown = known.includes(key);
        const isSame = isKnown && hash >> 1 === key % 2 && (hash & 1) === 0;
        if (!isSame || seen.has(key)) expected.push(at * 2 + (isKnown && seen.has(key) ? 1 : 0));
        if (isKnown) seen.add(key);
      }
      of.rows.count = rows.length;
      expect([...matcher.othersOf(of)]).toEqual(expected);
      expect(known.filter((_, rank) => (matcher.seen[rank >>> 5]! >>> (rank & 31)) & 1)).toEqual(
        known.filter((one) => seen.has(one)),
      );
    }),
    { numRuns: 150 },
  );
}, 60_000);
