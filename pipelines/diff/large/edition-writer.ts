import type { RegisterName } from '../../../schemas/registers.ts';
import { rucPrefixes } from '../../../schemas/ruc.ts';
import type { ChangeFileFacts } from '../../changes/change-file.ts';
import type { ContainerFile } from '../../changes/container-writer.ts';
import { ChangeWriter, OverlayWriter, type RowAt } from '../change-writer.ts';
import type { KindCounts } from '../types.ts';
import { attemptName, workFileName } from '../work-files.ts';
import type { EditionIndex } from './edition-index.ts';
import { BucketEdits, IndexBuilder } from './index-builder.ts';
import type { IndexHeader } from './index-format.ts';
import { SegmentWriter, type StoredRow } from './row-store.ts';
import { hashOfRow } from './scan.ts';

export interface EditionFiles {
  facts: ChangeFileFacts;
  changeFileSha256: string;
  base: IndexHeader | null;
  segment: SegmentWriter;
  builder: IndexBuilder;
  tally: Tally;
  /** The change in each column's count of empty cells. */
  empty: Float64Array;
}

/**
 * Gives an edition's row segment and index their final names. The segment comes first, because the index points to its
 * rows. Comparison, correction and rebuild all make their index header here, so a rebuilt index equals the original one
 * bit for bit.
 */
export function finishEdition(files: EditionFiles): IndexHeader {
  const { facts, changeFileSha256, base, segment, builder, tally } = files;
  const segments = [...(base?.segments ?? [])];
  if (segment.bytes > 0) {
    segments.push({ changeFileSha256, bytes: segment.bytes });
    segment.finish(workFileName(facts.register, changeFileSha256, 'rows'));
  }
  const emptyOf = (column: string, at: number) => (base?.emptyByColumn[column] ?? 0) + files.empty[at]!;
  return builder.finish(workFileName(facts.register, changeFileSha256, 'index'), {
    register: facts.register,
    edition: facts.edition,
    changeFileSha256,
    parserVersion: facts.parserVersion,
    columns: [...facts.columns],
    hashSeed: facts.hashSeed,
    rowsByKind: tally.rowsByKind,
    emptyByColumn: Object.fromEntries(facts.columns.map((column, at) => [column, emptyOf(column, at)])),
    segments,
  });
}

/** Returns the names of the working files that these indexes need. */
export function neededFiles(register: RegisterName, headers: readonly (IndexHeader | null)[]): Set<string> {
  const names = new Set<string>();
  for (const header of headers) {
    if (header === null) continue;
    names.add(workFileName(register, header.changeFileSha256, 'index'));
    for (const { changeFileSha256 } of header.segments) names.add(workFileName(register, changeFileSha256, 'rows'));
  }
  return names;
}

export interface EditionPlan {
  facts: ChangeFileFacts;
  /** The index from which the new index is made; null for a full edition. */
  base: EditionIndex | null;
  workDir: string;
  outputDir: string;
  /** Each temporary file of this attempt has this text in its name. */
  attempt: string;
  emptyMarkers: readonly string[];
}

export interface WrittenEdition {
  changeFile: ContainerFile;
  overlayFile: ContainerFile | null;
  index: IndexHeader;
}

/**
 * Writes all files of an edition at the same time: change file, overlay, row store and index. Callers give rows in RUC
 * order and call `endBucket` after each range of keys.
 */
export class EditionWriter {
  readonly tally: Tally;
  readonly overlay: OverlayWriter;
  readonly #plan: EditionPlan;
  readonly #changes: ChangeWriter;
  readonly #segment: SegmentWriter;
  readonly #builder: IndexBuilder;
  readonly #edits = new BucketEdits();
  readonly #hash = new Int32Array(2);

  constructor(plan: EditionPlan) {
    const { facts, base, workDir, outputDir, attempt, emptyMarkers } = plan;
    const name = (kind: string) => attemptName(facts.register, attempt, kind);
    this.#plan = plan;
    this.tally = new Tally(facts.columns, base?.header ?? null);
    this.#changes = new ChangeWriter(outputDir, name('changes'), facts, emptyMarkers);
    this.overlay = new OverlayWriter(outputDir, name('overlay'), facts);
    this.#segment = new SegmentWriter(workDir, name('rows'), base?.header.segments ?? []);
    this.#builder = new IndexBuilder(workDir, name('index'), base);
  }

  /** Writes a row that was not there before, or that a full edition states again. */
  insert(op: 'r' | 'c', key: number, row: StoredRow, line: number | null): void {
    this.#store(key, row);
    this.#changes.write(op, null, row, line);
    this.tally.count(key, op === 'r' ? 'baseline' : 'inserted', 0);
  }

  /** Writes a row that differs. Bit c of `changed` is set if column c differs. */
  update(key: number, before: RowAt, after: StoredRow, line: number | null, changed: number): void {
    this.#store(key, after);
    this.#changes.write('u', before, after, line);
    this.tally.count(key, 'updated', changed);
  }

  remove(key: number, before: RowAt): void {
    this.#edits.remove(key);
    this.#changes.write('d', before, null, null);
    this.tally.count(key, 'deleted', 0);
  }

  endBucket(): void {
    this.#builder.addBucket(this.#edits);
    this.#edits.clear();
  }

  /** Finishes the change file first, because its hash is part of the names of the row segment and the index. */
  finish(): WrittenEdition {
    const { facts, base } = this.#plan;
    const name = (kind: string, sha256: string) => editionFileName(facts, kind, sha256, 'avro');
    const changeFile = this.#changes.finish((sha256) => name('changes', sha256));
    const overlayFile = this.overlay.finish((sha256) => name('overlay', sha256));
    const index = finishEdition({
      facts,
      changeFileSha256: changeFile.sha256,
      base: base?.header ?? null,
      segment: this.#segment,
      builder: this.#builder,
      tally: this.tally,
      empty: this.#changes.empty.byColumn,
    });
    return { changeFile, overlayFile, index };
  }

  /** Removes the files that are not finished. */
  discard(): void {
    for (const writer of [this.#changes, this.overlay, this.#segment, this.#builder]) writer.discard();
  }

  #store(key: number, row: StoredRow): void {
    const position = this.#segment.append(row);
    hashOfRow(row.view, row.start, row.end, this.#plan.facts.hashSeed, this.#hash);
    this.#edits.set(key, this.#hash[0]!, this.#hash[1]!, position);
  }
}

export function editionFileName(facts: ChangeFileFacts, kind: string, sha256: string, end: string): string {
  return `${facts.register}.${facts.edition}.${kind}.${sha256}.${end}`;
}

const outcomes = ['baseline', 'inserted', 'updated', 'deleted'] as const;
export type Outcome = (typeof outcomes)[number];
type Kind = 'company' | 'other';

const keysPerPrefix = 100_000_000;
const kindOfPrefix = (prefix: string): Kind => (prefix === '20' ? 'company' : 'other');

/**
 * Counts the rows of one comparison by kind of taxpayer, because gates judge companies apart from natural persons. The
 * counts are plain numbers for each RUC prefix, so that the count of every row of a first edition is fast.
 */
export class Tally {
  readonly #columns: readonly string[];
  /** Number of rows of the base by RUC prefix; null for a full edition, whose counts start from zero. */
  readonly #baseRows: Record<string, number> | null;
  /** One count for each pair of RUC prefix and outcome. */
  readonly #counts = new Float64Array(rucPrefixes.length * outcomes.length);
  readonly #changed: Record<Kind, Float64Array>;
  kept = 0;
  keptCells = 0;

  constructor(columns: readonly string[], base: IndexHeader | null) {
    this.#columns = columns;
    this.#baseRows = base?.rowsByKind ?? null;
    this.#changed = { company: new Float64Array(columns.length), other: new Float64Array(columns.length) };
  }

  /** Counts one row. Bit c of `changedColumns` is set if an update changed column c. */
  count(key: number, what: Outcome, changedColumns: number): void {
    const prefix = Math.floor(key / keysPerPrefix);
    this.#counts[prefix * outcomes.length + outcomes.indexOf(what)]! += 1;
    if (changedColumns === 0) return;
    const changed = this.#changed[kindOfPrefix(rucPrefixes[prefix]!)];
    for (let column = 0; column < changed.length; column += 1) changed[column]! += (changedColumns >>> column) & 1;
  }

  total(what: Outcome): number {
    return rucPrefixes.reduce((sum, prefix) => sum + this.#count(prefix, what), 0);
  }

  get byKind(): { company: KindCounts; other: KindCounts } {
    return { company: this.#ofKind('company'), other: this.#ofKind('other') };
  }

  get changedByColumn(): Record<string, number> {
    const { company, other } = this.#changed;
    return this.#byColumn((column) => company[column]! + other[column]!);
  }

  /** Number of rows by RUC prefix. The order is fixed, so that equal states give equal index bytes. */
  get rowsByKind(): Record<string, number> {
    const kinds = rucPrefixes.map((prefix) => [prefix, this.#rows(prefix)] as const);
    return Object.fromEntries(kinds.filter(([, rows]) => rows > 0));
  }

  #ofKind(kind: Kind): KindCounts {
    const prefixes = rucPrefixes.filter((prefix) => kindOfPrefix(prefix) === kind);
    const sum = (of: (prefix: string) => number) => prefixes.reduce((total, prefix) => total + of(prefix), 0);
    const [baseline, inserted, updated, deleted] = outcomes.map((what) => sum((prefix) => this.#count(prefix, what)));
    return {
      rows: sum((prefix) => this.#rows(prefix)),
      baseline: baseline!,
      inserted: inserted!,
      updated: updated!,
      deleted: deleted!,
      changedByColumn: this.#byColumn((column) => this.#changed[kind][column]!),
    };
  }

  #rows(prefix: string): number {
    const added = this.#count(prefix, 'baseline') + this.#count(prefix, 'inserted');
    if (this.#baseRows === null) return added + this.#count(prefix, 'updated');
    return (this.#baseRows[prefix] ?? 0) + added - this.#count(prefix, 'deleted');
  }

  #count(prefix: string, what: Outcome): number {
    const at = (rucPrefixes as readonly string[]).indexOf(prefix) * outcomes.length + outcomes.indexOf(what);
    return this.#counts[at]!;
  }

  #byColumn(of: (column: number) => number): Record<string, number> {
    return Object.fromEntries(this.#columns.map((name, column) => [name, of(column)]));
  }
}
