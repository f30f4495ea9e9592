import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Column, registers } from '../../../schemas/registers.ts';
import type { ChangeFileFacts, HashSeed } from '../../changes/change-file.ts';
import { CompareError } from '../../changes/errors.ts';
import { namedBytes } from '../../changes/schema.ts';
import { readCounts, resultOf } from '../counts.ts';
import { comparedEdition, requireSameParser } from '../edition.ts';
import type { KernelMemory } from '../kernel/kernel.ts';
import { RejectList } from '../listings.ts';
import { type CompareInput, type CompareLimits, type CompareResult, compareLimits, type Progress } from '../types.ts';
import { attemptName, sweepWorkFiles } from '../work-files.ts';
import type { PublishedText } from '../zip.ts';
import { Classifier } from './classify.ts';
import { RowComparer } from './compare-rows.ts';
import { type EditionIndex, openBase, openIndexHeader, RowMatcher } from './edition-index.ts';
import { EditionWriter, neededFiles } from './edition-writer.ts';
import { eachBucket, Merge } from './merge.ts';
import { classifyPages, type LargeModule, largeModule, openReading } from './reading.ts';

import { BaseRows } from './row-store.ts';
import { Spill } from './spill.ts';

/**
 * Compares a publication with the register's head and writes the edition's change file, overlay, reject file, index and
 * row store. Equal input gives equal bytes. A file gets its final name only when it is whole. For 18 million rows it
 * uses some 500 MB outside the heap.
 * @throws CompareError; the signal's reason when aborted
 */
export async function compareEdition(
  input: CompareInput,
  report: (progress: Progress) => void,
  signal: AbortSignal,
  changedLimits: Partial<CompareLimits> = {},
): Promise<CompareResult> {
  const limits: CompareLimits = { ...compareLimits, ...changedLimits };
  mkdirSync(input.workDir, { recursive: true });
  mkdirSync(input.outputDir, { recursive: true });
  const module = largeModule(input.register);
  const reading = await openReading(module, input.publicationPath, limits);
  report({ phase: 'index', done: 0, total: 1, lines: 0 });
  let work: Work | null = null;
  try {
    const edition = comparedEdition(input);
    const facts = { ...edition, hashSeed: edition.isFull ? newSeed(input, reading.text) : seedOfBase(input) };
    // If the text is long, this starts another thread, which reads the publication while this thread reads the index.
    const pages = reading.start(facts.hashSeed);
    const base = input.base === null ? null : openBase(input, input.base, reading.memory);
    if (base !== null && !facts.isFull) requireSameParser(input.register, base.header);
    work = makeWork(input, module, facts, base, reading.memory);
    await classifyPages(pages, reading.text.textBytes, work.classifier, report, signal);
    requireRows(work);
    if (base !== null && input.previous != null) {
      // A re-baseline is rare, so its code is imported only here. An ordinary comparison starts faster without it.
      const { writeRebaseline } = await import('./rebaseline.ts');
      const dependencies = { ...work, baseRows: work.baseRows!, previous: input.previous, module, limits };
      await writeRebaseline(dependencies, input.workDir, report, signal);
    } else await mergeWithBase(work, report, signal);
    report({ phase: 'finish', done: 0, total: 1, lines: work.classifier.lines });
    return finish(input, base, work);
  } finally {
    await reading.close();
    work?.discard();
  }
}

/** Refuses a publication without any row. No register is empty, and a comparison with it would delete every RUC. */
function requireRows({ classifier, rejects }: Work): void {
  const { lines } = classifier;
  if (lines > rejects.rejected) return;
  const what = lines === 0 ? 'a header and no line' : `${lines} lines and no row among them`;
  throw new CompareError('empty', `The publication holds ${what}.`);
}

/** Reads only the header of the base's index, in a millisecond, so that the scan need not wait for the whole index. */
function seedOfBase({ workDir, register, base }: CompareInput): HashSeed {
  return openIndexHeader(workDir, register, base!.changeFileSha256).hashSeed;
}

/**
 * Makes the seed of the row hashes from facts that a repeated run has too. One of them is `detectedAt`, which the
 * publisher cannot foresee. So he cannot prepare two rows with equal hashes.
 */
function newSeed(input: CompareInput, text: PublishedText): HashSeed {
  const bytes = namedBytes(8, 'seed', input.register, input.detectedAt, text.crc32, text.textBytes);
  return { first: bytes.readUInt32LE(0), second: bytes.readUInt32LE(4) };
}

type Work = ReturnType<typeof makeWork>;

function makeWork(
  input: CompareInput,
  module: LargeModule,
  facts: ChangeFileFacts,
  base: EditionIndex | null,
  memory: KernelMemory,
) {
  const { register, workDir } = input;
  const compared = facts.isFull ? null : base;
  const { cells, emptyMarkers } = module.format;
  const baseRows = base === null ? null : new BaseRows(workDir, register, base);
  const rejects = new RejectList();
  const spill = new Spill(join(workDir, attemptName(register, 'spill')));
  const matcher = compared === null ? null : new RowMatcher(memory, compared);
  const classifier = new Classifier({ base: matcher, known: base, spill, rejects, seed: facts.hashSeed, cells });
  const writer = new EditionWriter(input, facts, compared, emptyMarkers);
  const columns: readonly Column[] = registers[register].columns;
  const comparer = new RowComparer(columns.map(({ keepsPrevious }) => keepsPrevious === true));
  const discard = () => {
    spill.close();
    baseRows?.close();
    writer.discard();
  };
  return { facts, baseRows, rejects, spill, classifier, writer, comparer, discard };
}

async function mergeWithBase(work: Work, report: (progress: Progress) => void, signal: AbortSignal): Promise<void> {
  const { seen, seenBad, lines } = work.classifier;
  const merge = new Merge({ ...work, base: work.baseRows, seen, seenBad });
  await eachBucket((bucket) => merge.add(bucket), lines, report, signal);
}

/** If the process dies before it answers, the finished files are whole, and a repeat writes the same bytes again. */
function finish(input: CompareInput, base: EditionIndex | null, work: Work): CompareResult {
  const { workDir, register, outputDir } = input;
  const { facts, rejects, writer } = work;
  const { index, ...written } = writer.finish();
  const rejectFile = rejects.write(outputDir, facts, written.changeFile.sha256);
  // The base's files stay. If an operator refuses the new edition, the next comparison starts from the same base.
  sweepWorkFiles(workDir, register, neededFiles(register, [base?.header ?? null, index]));
  sweepWorkFiles(outputDir, register, null);
  const { lines, emptyNames } = work.classifier;
  const rows = lines - rejects.rejected - rejects.duplicates;
  return resultOf(facts, writer.tally, written, readCounts({ lines, rows, emptyNames }, rejects, rejectFile));
}
