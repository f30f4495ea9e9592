import type { RegisterName } from '../../schemas/registers.ts';
import type { RejectReason } from './listings.ts';
import type { PublicationLimits } from './zip.ts';

export interface CompareLimits extends PublicationLimits {
  /**
   * Texts of at least so many bytes are inflated by a thread of their own. For shorter ones starting it takes longer.
   */
  minThreadTextBytes: number;
  /** At most so many lines are listed in the reject file; all are counted. */
  maxRejectLines: number;
  /** Bytes of each rejected line that are kept. */
  maxRejectBytes: number;
  /** Bytes of rows in one bucket of keys. Real buckets are far smaller, so only a file that repeats itself fails. */
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
  /** Folder of indexes and row stores, which can be rebuilt. */
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
   * Makes a re-baseline: the head's publication and overlay, given when the head has another parser version or other
   * columns. Today's parser reads them again, and the new publication is compared with that reading. Every row is
   * written: `u` where a column that the head had differs, `c` and `d` as always, `r` for all others.
   */
  previous?: { publicationPath: string; overlayPath: string | null; knownColumns: readonly string[] } | null;
  limits?: Partial<CompareLimits>;
}

/** Undoes an edition: a RUC that still has that edition's row gets its earlier row back; any other is a conflict. */
export interface CorrectInput {
  register: RegisterName;
  workDir: string;
  /** The register's head. */
  base: { edition: number; changeFileSha256: string };
  /** base.edition + 1. */
  edition: number;
  detectedAt: number;
  /** Number of the edition to undo. Its change file comes next. */
  corrects: number;
  correctedFile: string;
  /** The head's overlay. Its entries stay in the new overlay, except for RUCs that this correction rewrites. */
  overlayPath: string | null;
  outputDir: string;
  limits?: Partial<CompareLimits>;
}

/** `conflicts` counts all of them. `conflictFile` lists them, one JSON object (`Conflict`) on each line. */
export interface CorrectResult extends CompareResult {
  conflicts: number;
  conflictFile: { path: string; bytes: number } | null;
}

/** Change files to fold, oldest first, from edition 1 or from the last re-baseline, which wrote every row. */
export interface RebuildInput {
  register: RegisterName;
  workDir: string;
  changeFiles: readonly { edition: number; path: string; sha256: string }[];
  maxAttemptAgeMs: number;
}

/** What a rebuild made. `indexName` means the same as in CompareResult. */
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

/** Large registers have an engine with index and row store, small ones an engine that holds all rows in memory. */
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
   * Rows whose line needed a repair, such as a control byte. They count in `rows` and are listed with rejected lines.
   */
  repaired: number;
  duplicates: number;
  /** Good lines without a name. */
  emptyNames: number;
  inserted: number;
  updated: number;
  deleted: number;
  /** Rows of a first edition. */
  baseline: number;
  /** Known RUCs whose only lines were bad. Their row stays. */
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
