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
