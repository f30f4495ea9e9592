import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { registers } from '../../schemas/registers.ts';
import { header as expectedHeader } from '../registers/padron-reducido/format.ts';
import type { HashSeed } from '../registers/padron-reducido/scan.ts';
import { bucketCount } from './buckets.ts';
import { type ChangeFileFacts, ChangeWriter, OverlayWriter } from './change-writer.ts';
import { Classifier } from './classify.ts';
import { RowComparer } from './compare-rows.ts';
import { finishEdition, neededFiles } from './edition-files.ts';
import { type EditionIndex, openIndex, openIndexHeader } from './edition-index.ts';
import { CompareError } from './errors.ts';
import { IndexBuilder } from './index-builder.ts';
import { Merge } from './merge.ts';
import { newPageMemory, type Page, pageIn, pagesOf } from './pages.ts';
import { RejectList } from './reject-file.ts';
import { RowStore, SegmentWriter } from './row-store.ts';
import { ScanThread } from './scan-thread.ts';
import { namedBytes } from './schema.ts';
import { Spill } from './spill.ts';
import { Tally } from './tally.ts';
import { type CompareInput, type CompareLimits, type CompareResult, compareLimits, type Progress } from './types.ts';
import { attemptName, sweepWorkFiles } from './work-files.ts';
import { openPublication, type PublishedText } from './zip.ts';

export type { CompareInput, CompareLimits, CompareResult, KindCounts, Progress } from './types.ts';

const progressEveryMs = 500;

/**
 * Compares a publication with the register's head and writes the edition's change file, overlay, reject file, index
 * and row store. Repeatable: the same input gives the same bytes, and nothing has its final name before it is whole.
 *
 * Uses up to some 500 MB beside the heap at 18 million rows. Errors: `CompareError`; the signal's reason when aborted.
 */
export async function compareEdition(
  input: CompareInput,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<CompareResult> {
  const limits: CompareLimits = { ...compareLimits, ...input.limits };
  mkdirSync(input.workDir, { recursive: true });
  mkdirSync(input.outputDir, { recursive: true });
  const publication = await openPublication(input.publicationPath, limits);
  report({ phase: 'index', done: 0, total: 1, lines: 0 });
  const seed = input.base === null ? newSeed(input, publication) : seedOfBase(input);
  // Started before the index is read, so that both happen at once.
  const reading =
    publication.textBytes < limits.minThreadTextBytes ? null : new ScanThread(input.publicationPath, limits, seed);
  let work: Parts | null = null;
  try {
    const base = input.base === null ? null : openBase(input);
    const attempt = randomUUID();
    work = makeParts(input, base, seed, attempt, limits);
    const pages = reading?.pages() ?? pagesHere(publication, seed);
    await scan(publication, pages, work.classifier, report, signal);
    await merge(work.merge, work.classifier.lines, report, signal);
    report({ phase: 'finish', done: 0, total: 1, lines: work.classifier.lines });
    return finish(input, base, work, attempt, limits);
  } finally {
    await reading?.close();
    work?.discard();
  }
}

function openBase(input: CompareInput): EditionIndex {
  const { edition, changeFileSha256 } = input.base!;
  const index = openIndex(input.workDir, input.register, changeFileSha256);
  const register = registers[input.register];
  if (index.header.edition !== edition || input.edition !== edition + 1) {
    const found = `The index is of edition ${index.header.edition}`;
    throw new CompareError('index_damaged', `${found}, the base is ${edition} and the new edition ${input.edition}.`);
  }
  const columns = register.columns.map(({ name }) => name).join();
  if (index.header.parserVersion !== register.parserVersion || index.header.columns.join() !== columns) {
    throw new CompareError('parser_changed', 'The base was read by another parser or with other columns.');
  }
  return index;
}

/** Known before the index itself is read. */
function seedOfBase({ workDir, register, base }: CompareInput): HashSeed {
  return openIndexHeader(workDir, register, base!.changeFileSha256).hashSeed;
}

/** The same reading on this thread, for small publications. */
function pagesHere(publication: PublishedText, seed: HashSeed): AsyncIterable<Page> {
  const page = pageIn(newPageMemory());
  return pagesOf(publication.chunks(), seed, () => page);
}

type Parts = ReturnType<typeof makeParts>;

function makeParts(
  input: CompareInput,
  base: EditionIndex | null,
  hashSeed: HashSeed,
  attempt: string,
  limits: CompareLimits,
) {
  const { register, workDir, outputDir } = input;
  const columns = registers[register].columns;
  const segments = base?.header.segments ?? [];
  const facts: ChangeFileFacts = {
    register,
    edition: input.edition,
    baseSha256: input.base?.changeFileSha256 ?? '',
    detectedAt: input.detectedAt,
    parserVersion: registers[register].parserVersion,
    columns: columns.map(({ name }) => name),
    hashSeed,
  };
  const name = (kind: string) => attemptName(register, attempt, kind);
  const baseRows = base === null ? null : new RowStore(workDir, register, segments);
  const rejects = new RejectList(limits);
  const tally = new Tally(facts.columns, base?.header ?? null);
  const spill = new Spill(join(workDir, name('spill')), limits.maxBucketBytes);
  const classifier = new Classifier(base, spill, rejects);
  const changes = new ChangeWriter(outputDir, name('changes'), facts);
  const overlay = new OverlayWriter(outputDir, name('overlay'), facts);
  const segment = new SegmentWriter(workDir, name('rows'), segments);
  const builder = new IndexBuilder(workDir, name('index'), base);
  const comparer = new RowComparer(columns.map((column) => 'keepsPrevious' in column && column.keepsPrevious === true));
  const { seen, seenBad } = classifier;
  const parts = { base, baseRows, seed: facts.hashSeed, seen, seenBad, spill, rejects, tally, comparer };
  const merge = new Merge({ ...parts, changes, overlay, segment, builder });
  const discard = () => {
    spill.close();
    baseRows?.close();
    for (const writer of [changes, overlay, segment, builder]) writer.discard();
    rmSync(join(outputDir, name('rejects')), { force: true });
  };
  return { facts, rejects, tally, classifier, changes, overlay, segment, builder, merge, discard };
}

/** The source cannot foresee `detectedAt`, so it cannot prepare rows that collide; a repeat of the run gets the same. */
function newSeed(input: CompareInput, publication: PublishedText): HashSeed {
  const bytes = namedBytes(8, 'seed', input.register, input.detectedAt, publication.crc32, publication.textBytes);
  return { first: bytes.readUInt32LE(0), second: bytes.readUInt32LE(4) };
}

async function scan(
  publication: PublishedText,
  pages: AsyncIterable<Page>,
  classifier: Classifier,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<void> {
  let bytes = 0;
  let reportedAt = 0;
  for await (const page of pages) {
    signal.throwIfAborted();
    classifier.add(page);
    bytes += page.textBytes;
    if (Date.now() - reportedAt < progressEveryMs) continue;
    reportedAt = Date.now();
    report({ phase: 'scan', done: bytes, total: publication.textBytes, lines: classifier.lines });
  }
}

async function merge(
  merging: Merge,
  lines: number,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<void> {
  let pausedAt = Date.now();
  for (let bucket = 0; bucket < bucketCount; bucket += 1) {
    merging.add(bucket);
    if (Date.now() - pausedAt < progressEveryMs) continue;
    // Lets a cancellation in.
    await setImmediate();
    signal.throwIfAborted();
    pausedAt = Date.now();
    report({ phase: 'merge', done: bucket, total: bucketCount, lines });
  }
}

/** Order of the writes: the change file gives the name; rows before the index that points at them; the answer last. */
function finish(
  input: CompareInput,
  base: EditionIndex | null,
  work: Parts,
  attempt: string,
  limits: CompareLimits,
): CompareResult {
  const { register, outputDir, edition } = input;
  const { facts, tally, rejects, classifier, changes, overlay, segment, builder } = work;
  const name = (kind: string, sha256: string, end: string) => `${register}.${edition}.${kind}.${sha256}.${end}`;
  const changeFile = changes.finish((sha256) => name('changes', sha256, 'avro'));
  const overlayFile = overlay.finish((sha256) => name('overlay', sha256, 'avro'));
  const rejectName = name('rejects', changeFile.sha256, 'ndjson');
  const rejectFile = rejects.write(outputDir, attemptName(register, attempt, 'rejects'), rejectName);
  const baseHeader = base?.header ?? null;
  const changeFileSha256 = changeFile.sha256;
  const made = finishEdition({
    facts,
    changeFileSha256,
    base: baseHeader,
    segment,
    builder,
    tally,
    empty: changes.empty,
  });
  // The last two editions stay: a comparison that an operator refuses is followed by another from the same base.
  sweepWorkFiles(input.workDir, register, neededFiles(register, [baseHeader, made]), limits.maxAttemptAgeMs);
  sweepWorkFiles(outputDir, register, null, limits.maxAttemptAgeMs);
  const rows = classifier.lines - rejects.rejected - rejects.duplicates;
  return {
    changeFile,
    overlayFile,
    rejectFile,
    lines: classifier.lines,
    rows,
    stateRows: made.rows,
    rejected: rejects.rejected,
    rejectedByReason: rejects.counts,
    duplicates: rejects.duplicates,
    emptyNames: classifier.emptyNames,
    inserted: tally.total('inserted'),
    updated: tally.total('updated'),
    deleted: tally.total('deleted'),
    baseline: tally.total('baseline'),
    kept: tally.kept,
    keptCells: tally.keptCells,
    unchanged: rows - tally.total('baseline') - tally.total('inserted') - tally.total('updated'),
    changedByColumn: tally.changedByColumn,
    changedByKind: tally.byKind,
    emptyByColumn: made.emptyByColumn,
    rowsByKind: made.rowsByKind,
    header: expectedHeader,
    parserVersion: facts.parserVersion,
    columns: [...facts.columns],
    indexName: `${register}.${changeFile.sha256}`,
  };
}
