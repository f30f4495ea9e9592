import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, mkdirSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { RegisterName } from '../../../schemas/registers.ts';
import {
  type ChangeBlock,
  type ChangeFile,
  type ChangeFileFacts,
  openChangeFile,
  recordsOf,
} from '../../changes/change-file.ts';
import { CompareError } from '../../changes/errors.ts';
import { baseline } from '../../changes/record-bytes.ts';
import { keyAt } from '../../registers/ruc-key.ts';
import type { RebuildInput, RebuildProgress, Rebuilt } from '../types.ts';
import { attemptName, sweepWorkFiles } from '../work-files.ts';
import { openIndex } from './edition-index.ts';
import { finishEdition, neededFiles, Tally } from './edition-writer.ts';
import { BucketEdits, IndexBuilder } from './index-builder.ts';
import { bucketBits, bucketCount, type IndexHeader } from './index-format.ts';
import { SegmentWriter } from './row-store.ts';
import { countEmptyCells, EmptyCells, RowDecoder } from './rows.ts';
import { hashOfRow } from './scan.ts';
import { largeModule } from './scan-thread.ts';

/**
 * Makes the index and row store of the last given edition again. It applies change files in order, from a full edition
 * on. Each step writes the same bytes as the comparison or correction of its edition, and the files of the last two
 * editions stay. If the process dies, only the steps of this run are lost. A first edition of 18 million rows takes
 * some seconds, each later edition half a second.
 * @throws CompareError `change_file_damaged`; the signal's reason when aborted
 */
export async function rebuildIndex(
  input: RebuildInput,
  report: (progress: RebuildProgress) => void,
  signal: AbortSignal,
): Promise<Rebuilt> {
  mkdirSync(input.workDir, { recursive: true });
  const headers: IndexHeader[] = [];
  for (const { edition, path, sha256 } of input.changeFiles) {
    await checkHash(path, sha256, signal);
    const file = await openChangeFile(path);
    try {
      const base = headers.at(-1) ?? null;
      checkOrder(file, input.register, edition, base);
      const step = (records: number) => report({ edition, lastEdition: input.changeFiles.at(-1)!.edition, records });
      headers.push(await fold(input, file, sha256, base, step, signal));
    } finally {
      await file.close();
    }
    const needed = neededFiles(input.register, headers.slice(-2));
    sweepWorkFiles(input.workDir, input.register, needed, input.maxAttemptAgeMs);
  }
  const last = headers.at(-1);
  if (last === undefined) throw new CompareError('change_file_damaged', 'There is no change file to rebuild from.');
  return { edition: last.edition, indexName: `${input.register}.${last.changeFileSha256}`, rows: last.rows };
}

async function checkHash(path: string, sha256: string, signal: AbortSignal): Promise<void> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash, { signal });
  if (hash.digest('hex') !== sha256)
    throw new CompareError('change_file_damaged', 'A change file is not what its name says.');
}

function checkOrder(file: ChangeFile, register: RegisterName, edition: number, base: IndexHeader | null): void {
  const { header } = file;
  if (base === null && !header.isFull) {
    throw new CompareError('change_file_damaged', `The change file of edition ${edition} does not state every row.`);
  }
  const follows = base === null || (header.baseSha256 === base.changeFileSha256 && edition === base.edition + 1);
  if (header.register === register && header.edition === edition && follows) return;
  throw new CompareError(
    'change_file_damaged',
    `The change file of edition ${edition} does not follow the one before it.`,
  );
}

async function fold(
  input: RebuildInput,
  file: ChangeFile,
  sha256: string,
  previous: IndexHeader | null,
  report: (records: number) => void,
  signal: AbortSignal,
): Promise<IndexHeader> {
  const { register, workDir } = input;
  const attempt = randomUUID();
  const facts = factsOf(file, register);
  const baseHeader = facts.isFull ? null : previous;
  const base = baseHeader === null ? null : openIndex(workDir, register, baseHeader.changeFileSha256);
  const segment = new SegmentWriter(workDir, attemptName(register, attempt, 'rows'), baseHeader?.segments ?? []);
  const builder = new IndexBuilder(workDir, attemptName(register, attempt, 'index'), base);
  const folding = new Folding(facts, baseHeader, segment, builder);
  try {
    for await (const block of file.blocks()) {
      signal.throwIfAborted();
      folding.add(block);
      report(folding.records);
    }
    folding.end();
    const { tally } = folding;
    const empty = folding.empty.byColumn;
    return finishEdition({ facts, changeFileSha256: sha256, base: baseHeader, segment, builder, tally, empty });
  } finally {
    segment.discard();
    builder.discard();
  }
}

/** Applies the records of one edition to index and row store. The records are in RUC order. */
class Folding {
  records = 0;
  readonly tally: Tally;
  readonly empty: EmptyCells;
  readonly #facts: ChangeFileFacts;
  readonly #segment: SegmentWriter;
  readonly #builder: IndexBuilder;
  readonly #edits = new BucketEdits();
  readonly #rows: RowDecoder;
  readonly #hash = new Int32Array(2);
  #bucket = 0;
  #lastKey = -1;

  constructor(facts: ChangeFileFacts, base: IndexHeader | null, segment: SegmentWriter, builder: IndexBuilder) {
    this.#facts = facts;
    this.#segment = segment;
    this.#builder = builder;
    this.tally = new Tally(facts.columns, base);
    this.#rows = new RowDecoder(facts.columns.length);
    this.empty = new EmptyCells(facts.columns.length, largeModule(facts.register).format.emptyMarkers);
  }

  add(block: ChangeBlock): void {
    for (const record of recordsOf(block)) {
      const { before, after } = this.#rows.read(record);
      const row = (after ?? before)!;
      const key = keyAt(row.bytes, row.start, row.end);
      if (key <= this.#lastKey) throw new CompareError('change_file_damaged', 'A change file is not in RUC order.');
      this.#lastKey = key;
      while (this.#bucket < key >>> bucketBits) this.#nextBucket();
      if (before !== null && !this.#facts.isFull) countEmptyCells(before.bytes, before.start, this.empty, -1);
      if (after === null) this.#edits.remove(key);
      else {
        countEmptyCells(after.bytes, after.start, this.empty, 1);
        const position = this.#segment.append(after);
        hashOfRow(after.view, after.start, after.end, this.#facts.hashSeed, this.#hash);
        this.#edits.set(key, this.#hash[0]!, this.#hash[1]!, position);
      }
      this.tally.count(
        key,
        after === null ? 'deleted' : before !== null ? 'updated' : record.op === baseline ? 'baseline' : 'inserted',
        0,
      );
      this.records += 1;
    }
  }

  end(): void {
    while (this.#bucket < bucketCount) this.#nextBucket();
  }

  #nextBucket(): void {
    this.#builder.addBucket(this.#edits);
    this.#edits.clear();
    this.#bucket += 1;
  }
}

/** The facts come from the file: an edition before a re-baseline has another parser version and maybe other columns. */
function factsOf(file: ChangeFile, register: RegisterName): ChangeFileFacts {
  const { metadata: _, hashSeed, ...header } = file.header;
  if (hashSeed === null) throw new CompareError('change_file_damaged', 'A change file does not name its hash seed.');
  return { ...header, register, hashSeed };
}
