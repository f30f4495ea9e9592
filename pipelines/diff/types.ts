import type { RegisterName } from '../../schemas/registers.ts';
import type { RejectReason } from './reject-file.ts';

export interface CompareLimits {
  /** Largest text that a publication may declare or inflate to. */
  maxTextBytes: number;
  maxEntries: number;
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
  /** A local zip file. */
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
  limits?: Partial<CompareLimits>;
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
  header: string;
  parserVersion: number;
  columns: string[];
  /** What `base.changeFileSha256` will open next time. */
  indexName: string;
}
