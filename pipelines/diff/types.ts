import type { RegisterName } from '../../schemas/registers.ts';
import type { RejectReason } from './listings.ts';
import type { PublicationLimits } from './zip.ts';

export interface CompareLimits extends PublicationLimits {
  /** Smallest text that a separate thread inflates. For a shorter text, starting a thread costs more than it saves. */
  minThreadTextBytes: number;
  /** Most lines that the reject file lists. Further lines are only counted. */
  maxRejectLines: number;
  /** Most bytes of a rejected line that are kept. */
  maxRejectBytes: number;
  /** Most bytes of rows in one bucket (range of keys). Real buckets are far smaller unless a file repeats itself. */
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
  /** Path of a local file in the register's container (a zip or plain text). */
  publicationPath: string;
  /** Folder of indexes and row stores, which can be rebuilt. */
  workDir: string;
  /** The register's head, or null for a first edition. */
  base: { edition: number; changeFileSha256: string } | null;
  /** base.edition + 1, or 1 for a first edition. */
  edition: number;
  /** Milliseconds since 1970. */
  detectedAt: number;
  /** Folder that receives the change file, the overlay and the reject file. */
  outputDir: string;
  /**
   * The head's publication and overlay, given when the head has another parser version or other columns. The edition is
   * then a re-baseline: today's parser reads them again, and the new publication is compared with that reading. Every
   * row is written: as `u` when a column that the head had differs, as `c` or `d` like in any edition, else as `r`.
   */
  previous?: { publicationPath: string; overlayPath: string | null; knownColumns: readonly string[] } | null;
  limits?: Partial<CompareLimits>;
}

/** Undoes an edition. A RUC that still has the edition's row gets its earlier row back. Other RUCs are conflicts. */
export interface CorrectInput {
  register: RegisterName;
  workDir: string;
  /** The register's head. */
  base: { edition: number; changeFileSha256: string };
  /** Must be base.edition + 1. */
  edition: number;
  detectedAt: number;
  /** Number of the edition to undo. `correctedFile` is its change file. */
  corrects: number;
  correctedFile: string;
  /** The head's overlay. Its entries stay in the new overlay, except for RUCs that this correction rewrites. */
  overlayPath: string | null;
  outputDir: string;
  limits?: Partial<CompareLimits>;
}

/** `conflicts` is the number of all conflicts. `conflictFile` lists them: each line is a JSON object (`Conflict`). */
export interface CorrectResult extends CompareResult {
  conflicts: number;
  conflictFile: { path: string; bytes: number } | null;
}

/** `changeFiles` are oldest first. The first is edition 1 or the last re-baseline, which contains every row. */
export interface RebuildInput {
  register: RegisterName;
  workDir: string;
  changeFiles: readonly { edition: number; path: string; sha256: string }[];
  maxAttemptAgeMs: number;
}

/** The result of a rebuild. `indexName` means the same as in CompareResult. */
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

/** Large registers have an engine with index and row store. Small registers have one that holds all rows in memory. */
export interface DifferenceEngine {
  compare(input: CompareInput, report: (progress: Progress) => void, signal: AbortSignal): Promise<CompareResult>;
  correct(input: CorrectInput, report: (progress: Progress) => void, signal: AbortSignal): Promise<CorrectResult>;
  rebuild(input: RebuildInput, report: (progress: RebuildProgress) => void, signal: AbortSignal): Promise<Rebuilt>;
}

export interface Progress {
  phase: 'index' | 'scan' | 'merge' | 'finish';
  /** Part of `total` that is done: bytes of text in `scan`, buckets of keys in `merge`. */
  done: number;
  total: number;
  lines: number;
}

export interface KindCounts {
  /** Rows of this kind of taxpayer in the new state. */
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
  /** Data lines of the publication: rows + rejected + duplicates. */
  lines: number;
  /** Distinct RUCs with a good line. */
  rows: number;
  /** Rows of the new state: rows + kept. */
  stateRows: number;
  rejected: number;
  rejectedByReason: Partial<Record<RejectReason, number>>;
  /**
   * Rows whose line needed a repair, for example because of a control byte. They count in `rows`, and the reject file
   * lists them too.
   */
  repaired: number;
  duplicates: number;
  /** Good lines without a name. */
  emptyNames: number;
  inserted: number;
  updated: number;
  deleted: number;
  /** Rows written as `r`: all rows of a first edition, or those of a re-baseline that are no event. */
  baseline: number;
  /** Known rows that stay because of a bad line. */
  kept: number;
  /** Rows in which an empty cell kept its previous value. */
  keptCells: number;
  unchanged: number;
  changedByColumn: Record<string, number>;
  changedByKind: { company: KindCounts; other: KindCounts };
  /** Empty cells of the new state, by column. */
  emptyByColumn: Record<string, number>;
  /** Rows of the new state, by the first two digits of the RUC. */
  rowsByKind: Record<string, number>;
  parserVersion: number;
  columns: string[];
  /** Name of the working files from which the next comparison starts. */
  indexName: string;
}
