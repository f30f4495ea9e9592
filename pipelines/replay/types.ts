import type { RegisterName } from '../../schemas/registers.ts';

/** A change file as a local file. */
export interface EditionFile {
  edition: number;
  path: string;
  sha256: string;
  /** Records in it, as the catalogue says. */
  changes: number;
  /** Of these, rows that did not change. More than none: it wrote every row, as a first edition or a re-baseline does. */
  baseline: number;
}

/** What the head's publication is compared with: index and row store of the head, and the overlay of the edition. */
export interface PublicationInput {
  /** Local file of the last publication that became an edition. */
  path: string;
  /** Local file of the head's overlay: rows in which the state differs from the publication on purpose. */
  overlayPath: string | null;
  /** WORK_DIR. Its finished files are only read: the comparison works on links in a scratch folder of its own within. */
  workDir: string;
}

/** Everything a verification reads; made by `planVerification`. Plain data, since it crosses to a child process. */
export interface VerifyInput {
  register: RegisterName;
  /** The head, materialised. */
  edition: number;
  clickhouseUrl: string;
  /** Tables that hold state, history and names: the serving ones, or those that a rebuild has just filled. */
  tables: { state: string; history: string; names: string };
  /** Every edition's change file, edition 1 first. */
  changeFiles: readonly EditionFile[];
  /** The last edition that wrote every row: folding begins there. */
  lastFull: number;
  /** Null: the publication is not compared (`publicationNote` says why). */
  publication: PublicationInput | null;
  publicationNote: string | null;
  limits?: Partial<VerifyLimits>;
}

export interface VerifyLimits {
  /** Rows whose hashes are compared at once; they are held in memory while their range is read. */
  maxRangeRows: number;
  /** Differing keys that are listed; all are counted. */
  maxListed: number;
  /** Change files open at once in a fold. */
  maxFiles: number;
  /** Rows that an overlay may hold. */
  maxOverlayRows: number;
}

export interface VerifyProgress {
  phase: 'files' | 'state' | 'history' | 'publication';
  /** Rows read in this phase. */
  rows: number;
  /** Rows of the phase, as far as they are known before its end. */
  totalRows: number;
  rowsPerSecond: number;
}

/** `missing`: not in ClickHouse (or the publication). `extra`: only there. `differs`: there with another row or version. */
export type DifferenceKind = 'missing' | 'extra' | 'differs';

export interface ListedDifference {
  where: 'state' | 'names' | 'history' | 'publication';
  kind: DifferenceKind;
  /** A company's RUC as it is, everything else masked. */
  id: string;
  /** Edition of a history row; null elsewhere. */
  edition: number | null;
}

export interface PartReport {
  /** Rows that the archive says there must be. */
  rows: number;
  missing: number;
  extra: number;
  differs: number;
}

export interface VerifyReport {
  register: RegisterName;
  edition: number;
  /** Rows of the state. */
  rows: number;
  equal: boolean;
  /** Over all parts. */
  differences: number;
  /** ClickHouse's newest rows against the folded change files. */
  state: PartReport;
  /** The index of names against the companies of the state; null: not the register that has one. */
  names: PartReport | null;
  /** ClickHouse's changes against the records of the change files. */
  history: PartReport;
  /** The state against publication and overlay; null when it was not compared, and `publicationNote` says why. */
  publication: PartReport | null;
  publicationNote: string | null;
  /** Rows in ClickHouse of a later edition than the verified one: an edition was on its way. */
  laterRows: number;
  listed: ListedDifference[];
}

export type ReplayErrorCode =
  | 'change_file_damaged'
  | 'too_many_files'
  | 'too_many_rows'
  | 'overlay_too_large'
  | 'edition_on_its_way'
  | 'no_edition'
  | 'edition_unknown'
  | 'edition_not_notified'
  | 'already_running'
  | 'shadow_differs'
  | 'verify_crashed';

/** What a fold, a verification, a rebuild or a replay cannot go on from. Names no person. */
export class ReplayError extends Error {
  override name = 'ReplayError';
  readonly code: ReplayErrorCode;
  readonly retryable: boolean;

  constructor(code: ReplayErrorCode, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}

export const verifyLimits: VerifyLimits = {
  maxRangeRows: 200_000,
  maxListed: 100,
  // One block of a quarter of a megabyte is held of each: eleven years of days.
  maxFiles: 4_000,
  maxOverlayRows: 1_000_000,
};

/** Rows of a register whose keys do not stand in the order of their numbers: they are held and sorted. */
export const maxSupplierRows = 2_000_000;

const everyMs = 1_000;

/** Turns counts of rows into progress, once a second. */
export class Meter {
  readonly #report: (progress: VerifyProgress) => void;
  #phase: VerifyProgress['phase'] = 'files';
  #totalRows = 0;
  #startedAt = 0;
  #saidAt = 0;

  constructor(report: (progress: VerifyProgress) => void) {
    this.#report = report;
  }

  begin(phase: VerifyProgress['phase'], totalRows: number): void {
    this.#phase = phase;
    this.#totalRows = totalRows;
    this.#startedAt = performance.now();
    this.#saidAt = 0;
    this.at(0);
  }

  at(rows: number): void {
    const now = performance.now();
    if (now - this.#saidAt < everyMs && rows < this.#totalRows) return;
    this.#saidAt = now;
    const seconds = (now - this.#startedAt) / 1000;
    this.#report({
      phase: this.#phase,
      rows,
      totalRows: this.#totalRows,
      rowsPerSecond: seconds > 0 ? Math.round(rows / seconds) : 0,
    });
  }
}
