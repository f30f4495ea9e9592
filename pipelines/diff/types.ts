import { z } from 'zod';
import { registerNames } from '../../schemas/registers.ts';
import type { RejectReason } from './listings.ts';
import type { PublicationLimits } from './zip.ts';

export interface CompareLimits extends PublicationLimits {
  /** Smallest text that a separate thread inflates. For a shorter text, starting a thread costs more than it saves. */
  minThreadTextBytes: number;
}

export const compareLimits: CompareLimits = {
  maxTextBytes: 8 * 2 ** 30,
  maxEntries: 100,
  minThreadTextBytes: 64 * 2 ** 20,
};

const path = z.string().min(1);
const edition = z.number().int().positive();
const register = z.enum(registerNames);
/** The register's head. */
const base = z.object({ edition, changeFileSha256: z.string() });
const nextEdition = {
  register,
  /** Folder of indexes and row stores, which can be rebuilt. */
  workDir: path,
  /** base.edition + 1, or 1 for a first edition. */
  edition,
  /** When the publication was verified, or the correction ordered, in milliseconds since 1970. */
  detectedAt: z.number().int().positive(),
  /** Folder that receives the change file, the overlay and the list of rejected lines or of conflicts. */
  outputDir: path,
};

const compareInput = z.object({
  ...nextEdition,
  /** Path of the publication's local file: a zip or plain text, as the register's `Container` says. */
  publicationPath: path,
  /** Null for a first edition. */
  base: base.nullable(),
  /**
   * The head's publication, its overlay, and the names of its columns. Set only for a re-baseline: another parser
   * version made the head, or the head's columns are not today's. Today's parser then reads the head's publication
   * again, the overlay is applied, and the new publication is compared with the result. A comparison with the stored
   * head would show as changes what only the two parsers read differently.
   */
  previous: z
    .object({ publicationPath: path, overlayPath: path.nullable(), knownColumns: z.array(z.string()).readonly() })
    .nullish(),
});
export type CompareInput = z.output<typeof compareInput>;

/**
 * Undoes an edition. If a row is still as the edition left it, the earlier row comes back. Any other row that the
 * edition changed stays, and its RUC is a conflict.
 */
const correctInput = z.object({
  ...nextEdition,
  base,
  /** Number of the edition to undo. `correctedFile` is its change file. */
  corrects: edition,
  correctedFile: path,
  /** The head's overlay. Its entries stay in the new overlay, except for RUCs that this correction rewrites. */
  overlayPath: path.nullable(),
});
export type CorrectInput = z.output<typeof correctInput>;

const rebuildInput = z.object({
  register,
  workDir: path,
  /** The change files, oldest first. The first is that of edition 1 or of the last re-baseline, and has every row. */
  changeFiles: z.array(z.object({ edition, path, sha256: z.string() })).readonly(),
});
export type RebuildInput = z.output<typeof rebuildInput>;

const publishedText = z.object({
  path,
  /** Whether the publication has repeated lines. Then the last line of a RUC is its row. */
  isLast: z.boolean(),
});

/** Keeps the lines of the companies that an edition changed, so that nobody has to search a whole publication. */
const keepLinesInput = z.object({
  register,
  /** The edition's change file. */
  changeFile: path,
  /** The publications before and after the change. Null: there is none, or the archive no longer has it. */
  before: publishedText.nullable(),
  after: publishedText.nullable(),
  /** Folder and name of the file that keeps the lines. */
  folder: path,
  name: z.string().min(1),
});
export type KeepLinesInput = z.output<typeof keepLinesInput>;

export const jobSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('compare'), input: compareInput }),
  z.object({ kind: z.literal('correct'), input: correctInput }),
  z.object({ kind: z.literal('rebuild'), input: rebuildInput }),
  z.object({ kind: z.literal('keepLines'), input: keepLinesInput }),
]);

/** What each job takes, reports while it runs, and returns. */
export interface Jobs {
  compare: { input: CompareInput; progress: Progress; result: CompareResult };
  correct: { input: CorrectInput; progress: Progress; result: CorrectResult };
  rebuild: { input: RebuildInput; progress: RebuildProgress; result: Rebuilt };
  /** Progress is the part of the two texts that was read, from 0 to 1. */
  keepLines: { input: KeepLinesInput; progress: number; result: { companies: number; bytes: number } };
}

/** There are two engines: for large registers (with an index and a row store) and for small registers (in memory). */
export type DifferenceEngine = {
  [Kind in Exclude<keyof Jobs, 'keepLines'>]: (
    input: Jobs[Kind]['input'],
    report: (progress: Jobs[Kind]['progress']) => void,
    signal: AbortSignal,
  ) => Promise<Jobs[Kind]['result']>;
};

/** `conflicts` is the number of all conflicts. `conflictFile` lists them: each line is a JSON object (`Conflict`). */
export interface CorrectResult extends CompareResult {
  conflicts: number;
  conflictFile: { path: string; bytes: number } | null;
}

/** The result of a rebuild. `indexName` is the name of the state's working files without their endings. */
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

export interface Progress {
  phase: 'index' | 'scan' | 'merge' | 'finish';
  /**
   * The part of `total` that is done. A large register counts bytes of text in phase `scan`, and buckets of keys in
   * phase `merge`. In every other report, `done` is 0 and `total` is 1.
   */
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
  /**
   * Data lines of the publication: rows + rejected + duplicates. In lists of barred suppliers there can be more lines,
   * because several lines make one row.
   */
  lines: number;
  /** Rows of the new state that good lines of the publication gave. */
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
  /** Rows written as `r`: all rows of a first edition, or the rows of a re-baseline that are no change. */
  baseline: number;
  /**
   * Rows of the base that stay as they were, because every line of their key in the publication is bad. In lists of
   * barred suppliers, one bad line among the lines of a key is enough.
   */
  kept: number;
  /** Rows in which an empty cell kept its previous value. */
  keptCells: number;
  unchanged: number;
  changedByColumn: Record<string, number>;
  changedByKind: { company: KindCounts; other: KindCounts };
  /** Empty cells of the new state, by column. */
  emptyByColumn: Record<string, number>;
  /** Rows of the new state by kind of key: the first two digits of a RUC, or the kind of another id. */
  rowsByKind: Record<string, number>;
  parserVersion: number;
  columns: string[];
  /** The name of the new edition's working files, without the ending `.index` or `.rows` (see `workFileName`). */
  indexName: string;
}
