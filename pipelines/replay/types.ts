import { z } from 'zod';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import { clickhouseAccessSchema } from '../runtime/clickhouse.ts';

const count = z.number().int().nonnegative();

/** An edition's change file on the local disk. */
const editionFileSchema = z.object({
  edition: count,
  path: z.string(),
  sha256: z.string(),
  /** Number of records in the file according to PostgreSQL (table `edition`). */
  changes: count,
  /** Number of baseline records. If above 0, the edition wrote every row: it is a first edition or a re-baseline. */
  baseline: count,
});
export type EditionFile = z.infer<typeof editionFileSchema>;

export function changesIn(files: readonly EditionFile[]): number {
  return files.reduce((sum, { changes }) => sum + changes, 0);
}

/** The publication that the head is based on, and what is needed to compare it with the state. */
const publicationInputSchema = z.object({
  /** Local file of the last publication that became an edition. */
  path: z.string(),
  /** Local file of the head's overlay: rows in which the state differs from the publication on purpose. */
  overlayPath: z.string().nullable(),
  /**
   * The folder WORK_DIR. The comparison works in a scratch folder inside it. Links in the scratch folder lead to the
   * finished files of WORK_DIR, which the comparison reads and never changes.
   */
  workDir: z.string(),
});
export type PublicationInput = z.infer<typeof publicationInputSchema>;

/** Everything that a verification reads. It is plain data because it is sent to a child process. */
export const verifyInputSchema = z.object({
  register: z.enum(registerNames),
  /** The head's number. */
  edition: count,
  clickhouseTarget: z.union([z.string(), clickhouseAccessSchema]),
  /** The tables to verify: the serving tables, or the shadow tables that a rebuild has just filled. */
  tables: z.object({ state: z.string(), history: z.string(), names: z.string() }),
  /** Every edition's change file, edition 1 first. */
  changeFiles: z.array(editionFileSchema),
  /** The last edition that wrote every row. The fold (fold.ts) begins with its change file. */
  lastFull: count,
  /** Null when the publication is not compared; `publicationNote` says why. */
  publication: publicationInputSchema.nullable(),
  publicationNote: z.string().nullable(),
});
export type VerifyInput = z.infer<typeof verifyInputSchema>;

export interface VerifyProgress {
  phase: 'files' | 'state' | 'history' | 'publication';
  /** Number of rows read so far in this phase. */
  rows: number;
  /** Number of rows that the phase is expected to read. */
  totalRows: number;
  rowsPerSecond: number;
}

/** `missing`: ClickHouse lacks the row. `extra`: only ClickHouse has it. `differs`: both have it, but not the same. */
export type DifferenceKind = 'missing' | 'extra' | 'differs';

export interface ListedDifference {
  where: 'state' | 'names' | 'history' | 'publication';
  kind: DifferenceKind;
  /** The RUC of a company; any other id is masked. */
  id: string;
  /** The edition of a history row; otherwise null. */
  edition: number | null;
}

export interface CheckReport {
  /** Number of rows that must exist according to the archive; in `VerifyReport.publication`, of published lines. */
  rows: number;
  missing: number;
  extra: number;
  differs: number;
}

export interface VerifyReport {
  register: RegisterName;
  edition: number;
  /** Number of rows that the state must have according to the archive. */
  rows: number;
  equal: boolean;
  /** The differences of all checks together. */
  differences: number;
  /** ClickHouse's newest row of each key, compared with the key's newest record in the change files. */
  state: CheckReport;
  /** The index of names compared with the companies of the state. Null for registers that have no such index. */
  names: CheckReport | null;
  /** ClickHouse's changes compared with the records of the change files. */
  history: CheckReport;
  /** The state compared with publication and overlay. Null when it was not compared; `publicationNote` says why. */
  publication: CheckReport | null;
  publicationNote: string | null;
  /**
   * Number of rows in ClickHouse that a later edition wrote. There are some if consumers write one during the
   * verification.
   */
  laterRows: number;
  listed: ListedDifference[];
}

export type ReplayErrorCode =
  | 'change_file_damaged'
  | 'too_many_files'
  | 'too_many_rows'
  | 'overlay_too_large'
  | 'edition_on_its_way'
  | 'edition_unknown'
  | 'edition_not_notified'
  | 'output_in_use'
  | 'already_running'
  | 'shadow_differs'
  | 'verify_crashed';

/** The error that ends a fold, a verification, a rebuild or a replay. Its message names no person. */
export class ReplayError extends Error {
  override name = 'ReplayError';
  readonly code: ReplayErrorCode;
  readonly retryable: boolean;

  constructor(code: ReplayErrorCode, message: string, { retryable = false } = {}) {
    super(message);
    this.code = code;
    this.retryable = retryable;
  }
}

const reportEveryMs = 1_000;

/** Turns row counts into progress reports, about one per second. */
export class Meter {
  readonly #report: (progress: VerifyProgress) => void;
  #phase: VerifyProgress['phase'] = 'files';
  #totalRows = 0;
  #startedAt = 0;
  #reportedAt = 0;

  constructor(report: (progress: VerifyProgress) => void) {
    this.#report = report;
  }

  /** Begins a phase that reads these change files. Pass an empty list if the number of rows is not known beforehand. */
  begin(phase: VerifyProgress['phase'], files: readonly EditionFile[]): void {
    this.#phase = phase;
    this.#totalRows = changesIn(files);
    this.#startedAt = performance.now();
    this.#reportedAt = 0;
    this.at(0);
  }

  at(rows: number): void {
    const now = performance.now();
    if (now - this.#reportedAt < reportEveryMs && rows < this.#totalRows) return;
    this.#reportedAt = now;
    const seconds = (now - this.#startedAt) / 1000;
    this.#report({
      phase: this.#phase,
      rows,
      totalRows: this.#totalRows,
      rowsPerSecond: seconds > 0 ? Math.round(rows / seconds) : 0,
    });
  }
}
