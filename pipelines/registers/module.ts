import { limaDay } from '../../schemas/lima-time.ts';
import type { RegisterName } from '../../schemas/registers.ts';

export interface RegisterModule {
  register: RegisterName;
  source: RegisterSource;
  format: LargeFormat | SmallFormat;
}

export interface RegisterSource {
  /** The official address, in which `{AAAAMM}` stands for a month. The setting SOURCE_<REGISTER>_URL replaces it. */
  url: string;
  /** The page that says when the register was last published, or null. SOURCE_<REGISTER>_PAGE_URL replaces it. */
  pageUrl: string | null;
  container: Container;
  date: SourceDating;
}

/** The file that a site offers: a zip that holds the text among other files, or the text itself. */
export type Container = ZipContainer | { kind: 'plain' };

/** How the text is found among the entries of a zip. Names are compared without their folders. */
export interface ZipContainer {
  kind: 'zip';
  /** Names that the text's entry may have. An entry with another name is never the text. */
  entry: RegExp;
  /** The name that the text has had so far. Several entries with this name are refused. */
  name: RegExp;
  /** How a text of this register begins, read as Latin-1. It is only asked when several entries match `entry`. */
  start: RegExp;
}

/** Where the date of the data comes from. The time of publication is `Last-Modified` if the source sends it. */
export type SourceDating =
  /** The date is `Last-Modified` of the GET that gave the bytes, or the page's date when that header is missing. */
  | { from: 'last_modified'; orPage(html: string): SourceDate | null }
  /**
   * The day of the data is the page's, because `Last-Modified` only says when a server copied the file. `read` returns
   * the date, or a text that says why the page has none.
   */
  | { from: 'page'; read(html: string): SourceDate | string }
  /** The date is in the text. `read` gets its first 64 KB and returns YYYY-MM-DD, or null when they contain no date. */
  | { from: 'text'; read(start: Buffer): string | null };

/** A register of millions of rows. Its bytes are read row by row into the index and row store of pipelines/diff. */
export interface LargeFormat {
  size: 'large';
  /** Number of cells in a row. The RUC is the first cell, and a pipe ends each cell. */
  cells: number;
  /**
   * Texts that mean an empty cell in this register. Only the counts of empty cells use them: cells are stored as
   * written.
   */
  emptyMarkers: readonly string[];
  /** Returns null when `line` is the known header, else a text that says what is wrong and never quotes the line. */
  problemOfHeader(line: Uint8Array): string | null;
  /**
   * Turns the published text into the form that the scanner (pipelines/diff/large/pages.ts) reads. A register that is
   * published in this form has no `canonical`. The form is:
   * - A header line, then one line per row. Each line keeps its number.
   * - Cells end with a pipe, lines end with LF, and the encoding is Windows-1252.
   * - A line that is not a row stays unchanged, so that the scanner rejects it with its own bytes.
   */
  canonical?(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer>;
}

/** A register of at most 200,000 lines, which is read whole and compared in memory. */
export interface SmallFormat {
  size: 'small';
  /** @throws CompareError `header_changed` */
  read(text: Buffer): SmallText;
}

/**
 * Why a line of a small register is listed for operators.
 * - Rejected: `cell_count`, `ruc_format`, `ruc_prefix`, `ruc_check_digit`, `id_format` (a supplier's id).
 * - Still a row: `control_byte` (replaced by a space) and `other_cut` (its cut-off date differs from the file's).
 * - `duplicate`: only one of the repeated lines counts.
 */
export type ListedReason =
  | 'cell_count'
  | 'ruc_format'
  | 'ruc_prefix'
  | 'ruc_check_digit'
  | 'id_format'
  | 'control_byte'
  | 'other_cut'
  | 'duplicate';

/** Reasons for which a line is listed and still counts as a row. */
export const keptReasons: ReadonlySet<string> = new Set<ListedReason>(['control_byte', 'other_cut']);

export interface SmallText {
  /**
   * Rows by key (a RUC or a supplier's id), in any order. Cells are in the order of the columns. If several lines have
   * the same RUC, the last line is the row. In lists of barred suppliers, all lines of a supplier make one row.
   */
  rows: Map<string, { cells: readonly string[]; line: number }>;
  lines: number;
  /**
   * Lines that operators can look at. A rejected line has a `key` if the key can still be read. The row that the last
   * edition has under this key then stays as it was.
   */
  listed: readonly { line: number; reason: ListedReason; key: string | null; raw: Buffer }[];
}

/** When a publication was published, and the day of its data (YYYY-MM-DD, in Lima). */
export interface SourceDate {
  publishedAt: Date;
  fechaDato: string;
}

/** The times that say when a file was published. Headers are as the site wrote them. */
export interface FileTimes {
  lastModified: string | null;
  /** The header `Date` of the answer that `lastModified` is from, or null when the answer had no such header. */
  answeredAt: string | null;
  /** When the register's newest edition was published; null before the first edition. */
  headPublishedAt: Date | null;
}

/** No register's file is older. An older time is that of a clock that was never set (1970, 1980, 2000). */
const oldestFile = new Date('2010-01-01T00:00:00Z');
/** The site keeps only its newest file, so a time that is this much older than the newest edition's is an error. */
const mostBeforeHeadMs = 366 * 24 * 60 * 60 * 1000;

/**
 * The date in the header `Last-Modified` of a file. A file cannot be newer than the answer that carried it (RFC 9110
 * 8.8.2.1) or newer than now, so a later time is cut to the earlier of these two. Null when the header is absent or
 * malformed, or when it has a time that no file of the register can have.
 */
export function dateFromLastModified(file: FileTimes, now: Date): SourceDate | null {
  const modified = timeOf(file.lastModified);
  if (modified === null) return null;
  const answered = timeOf(file.answeredAt) ?? now;
  const publishedAt = new Date(Math.min(modified.getTime(), answered.getTime(), now.getTime()));
  const head = file.headPublishedAt?.getTime() ?? 0;
  if (head - publishedAt.getTime() > mostBeforeHeadMs) return null;
  return { publishedAt, fechaDato: limaDay(publishedAt) };
}

const httpDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Reads a time as HTTP writes it (RFC 9110 5.6.7). Null when it is malformed or before `oldestFile`. */
function timeOf(header: string | null): Date | null {
  const time = header !== null && httpDate.test(header) ? new Date(header) : null;
  return time === null || Number.isNaN(time.getTime()) || time < oldestFile ? null : time;
}
