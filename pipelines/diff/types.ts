import type { RegisterName } from '../../schemas/registers.ts';
import type { RejectReason } from './listings.ts';
import type { PublicationLimits } from './zip.ts';

export interface CompareLimits extends PublicationLimits {
  /** Text from which on inflating has a thread of its own; below, starting one takes longer than it saves. */
  minThreadTextBytes: number;
  /** Lines listed in the reject file; all are counted. */
  maxRejectLines: number;
  /** Bytes of each rejected line that are kept. */
  maxRejectBytes: number;
  /** Bytes of rows that one range of keys may bring: far above any real one, so only a file that repeats itself fails. */
  maxBucketBytes: number;
  /** Age after which a dead attempt's working files are removed. */
  maxAttemptAgeMs: number;
}

export const compareLimits: CompareLimits = {
  maxTextBytes: 8 * 2 ** 30,
  maxEntries: 100,
  minThreadTextBytes: 64 * 2 ** 20,
  maxRejectLines: 100_000,
  maxRejectBytes: 2_000,
  maxBucketBytes: 512 * 2 ** 20,
  maxAttemptAgeMs: 24 * 3_600_000,
};

export interface CompareInput {
  register: RegisterName;
  /** A local file in the register's container. */
  publicationPath: string;
  /** Folder of indexes and row stores: what can be rebuilt. */
  workDir: string;
  /** The register's head, or null for a first edition. */
  base: { edition: number; changeFileSha256: string } | null;
  /** base.edition + 1, or 1. */
  edition: number;
  /** Milliseconds since 1970. */
  detectedAt: number;
  /** Folder that receives the change file, the overlay and the reject file. */
  outputDir: string;
  /**
   * Re-baseline: the publication and overlay of the head, given when the head was read by another parser version or column
   * list. Read again by today's parser they are what the new publication is compared with; every row is then written: `u`
   * where a column that the head knew differs under one and the same parser, `c` and `d` as ever, `r` for all others.
   */
  previous?: { publicationPath: string; overlayPath: string | null; knownColumns: readonly string[] } | null;
  limits?: Partial<CompareLimits>;
}

/** Undoes an edition: each of its RUCs that still has the row it gave gets the row from before; others are conflicts. */
export interface CorrectInput {
  register: RegisterName;
  workDir: string;
  /** The register's head. */
  base: { edition: number; changeFileSha256: string };
  /** base.edition + 1. */
  edition: number;
  detectedAt: number;
  /** The edition to undo, and its change file. */
  corrects: number;
  correctedFile: string;
  /** The head's overlay: what it lists and this correction leaves stays in the new overlay. */
  overlayPath: string | null;
  outputDir: string;
  limits?: Partial<CompareLimits>;
}

/** A RUC that a correction leaves as it is. */
export interface Conflict {
  /** The edition that was to be undone. */
  edition: number;
  ruc: string;
  /** Its row has changed since; it is no longer in the state; it was gone and is in the state again. */
  reason: 'changed_again' | 'gone' | 'came_back';
}

/** `conflicts`: all of them; `conflictFile` lists them, one JSON object (`Conflict`) a line. */
export interface CorrectResult extends CompareResult {
  conflicts: number;
  conflictFile: { path: string; bytes: number } | null;
}

/** Change files to fold, oldest first: from edition 1 or the last edition that wrote every row (a re-baseline). */
export interface RebuildInput {
  register: RegisterName;
  workDir: string;
  changeFiles: readonly { edition: number; path: string; sha256: string }[];
  maxAttemptAgeMs: number;
}

/** What a rebuild made; `indexName` as in a comparison's answer. */
export interface Rebuilt {
  edition: number;
  indexName: string;
  rows: number;
}

export interface RebuildProgress {
  edition: number;
  lastEdition: number;
  records: number;
}

/** What makes the differences of a register: one engine for large ones (index and row store), one in memory for small ones. */
export interface DifferenceEngine {
  compare(input: CompareInput, report: (progress: Progress) => void, signal: AbortSignal): Promise<CompareResult>;
  correct(input: CorrectInput, report: (progress: Progress) => void, signal: AbortSignal): Promise<CorrectResult>;
  rebuild(input: RebuildInput, report: (progress: RebuildProgress) => void, signal: AbortSignal): Promise<Rebuilt>;
}

export interface Progress {
  phase: 'index' | 'scan' | 'merge' | 'finish';
  /** Of `total`: bytes of text in `scan`, ranges of keys in `merge`. */
  done: number;
  total: number;
  lines: number;
}

export interface KindCounts {
  /** Rows of this kind in the new state. */
  rows: number;
  baseline: number;
  inserted: number;
  updated: number;
  deleted: number;
  changedByColumn: Record<string, number>;
}

export interface CompareResult {
  changeFile: { path: string; sha256: string; bytes: number };
  overlayFile: { path: string; sha256: string; bytes: number } | null;
  rejectFile: { path: string; bytes: number } | null;
  /** Data lines of the publication; = rows + rejected + duplicates. */
  lines: number;
  /** Distinct RUCs with a good line. */
  rows: number;
  /** Rows of the new state; = rows + kept. */
  stateRows: number;
  rejected: number;
  rejectedByReason: Partial<Record<RejectReason, number>>;
  /** Rows of lines that needed a repair (a control byte made a space): counted in `rows`, listed with the rejected lines. */
  repaired: number;
  duplicates: number;
  /** Good lines without a name. */
  emptyNames: number;
  inserted: number;
  updated: number;
  deleted: number;
  /** Rows of a first edition. */
  baseline: number;
  /** Known RUCs whose only lines were bad: their row stays. */
  kept: number;
  /** Known RUCs of which an empty cell kept its previous value. */
  keptCells: number;
  unchanged: number;
  changedByColumn: Record<string, number>;
  changedByKind: { company: KindCounts; other: KindCounts };
  /** Over the new state: cells that stand for nothing, by column. */
  emptyByColumn: Record<string, number>;
  /** Over the new state: rows by the RUC's first two digits. */
  rowsByKind: Record<string, number>;
  parserVersion: number;
  columns: string[];
  /** What `base.changeFileSha256` will open next time. */
  indexName: string;
}
