import { limaDay } from '../../schemas/lima-time.ts';
import type { RegisterName } from '../../schemas/registers.ts';

/** All that the pipeline knows of one register: where it is published and how to read its bytes. */
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

/** A zip with exactly one entry whose name matches, or the text itself. */
export type Container = { kind: 'zip'; entry: RegExp } | { kind: 'plain' };

/** Where the date of the data comes from. The time of publication is `Last-Modified` where the source sends one. */
export type SourceDating =
  /** `Last-Modified` of the GET that gave the bytes, or the page's date when it is missing. */
  | { from: 'last_modified'; orPage(html: string): SourceDate | null }
  /**
   * Always the page's date: the file's own header says when a server copied it. `read` returns a text when there is
   * none.
   */
  | { from: 'page'; read(html: string): SourceDate | string }
  /** The text itself: `read` gets its first 64 KB and returns YYYY-MM-DD, or null when they hold no date. */
  | { from: 'text'; read(start: Buffer): string | null };

/** A register of millions of rows, read as bytes, row by row, into the index and row store of pipelines/diff. */
export interface LargeFormat {
  size: 'large';
  /** Number of cells in a row. The RUC is the first, and a pipe ends each cell. */
  cells: number;
  /**
   * Texts that mean an empty cell in this register. They are stored as written; only the counts of empty cells use
   * this.
   */
  emptyMarkers: readonly string[];
  /** Null when the first line is the known header, else what is wrong with it, without quoting the line. */
  problemOfHeader(line: Uint8Array): string | null;
  /**
   * Turns the published text into the form that the scanner reads: a header line, then one line per row, cells ended by
   * pipes, LF, Windows-1252. Line n stays line n. A line that is not a row passes unchanged, so that it is rejected
   * with its own bytes. Absent when the register is published in that form.
   */
  canonical?(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer>;
}

/** A register of at most 200,000 lines, read whole and compared in memory. */
export interface SmallFormat {
  size: 'small';
  /** @throws CompareError `header_changed` */
  read(text: Buffer): SmallText;
}

/**
 * Why a line of a small register is listed for operators. Lines that are rejected: `cell_count`, `ruc_format`,
 * `ruc_prefix`, `ruc_check_digit`, `id_format` (a supplier's id is missing or too long). Lines that still count as
 * rows: `control_byte` (replaced by a space), `other_cut` (its cut-off date differs from the file's). `duplicate`: only
 * one of the repeats counts.
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
   * Rows by key (a RUC or a supplier's id) in any order. The last of repeats wins. Cells are in the order of the
   * columns.
   */
  rows: Map<string, { cells: readonly string[]; line: number }>;
  /** Number of data lines, including bad and repeated ones. */
  lines: number;
  /** Lines for operators. `key` is set when a rejected line still names a row; that row then keeps its known value. */
  listed: readonly { line: number; reason: ListedReason; key: string | null; raw: Buffer }[];
}

/** When a publication was published, and the day of its data (YYYY-MM-DD, in Lima). */
export interface SourceDate {
  publishedAt: Date;
  fechaDato: string;
}

/** How far a site's clock may run ahead of ours; a date further ahead is not believed. */
export const clockToleranceMs = 24 * 60 * 60 * 1000;
const httpDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The date of an HTTP `Last-Modified` (RFC 9110 5.6.7). Null when absent, malformed or in the future. */
export function dateFromLastModified(lastModified: string | null, now: Date): SourceDate | null {
  if (lastModified === null || !httpDate.test(lastModified)) return null;
  const publishedAt = new Date(lastModified);
  if (Number.isNaN(publishedAt.getTime()) || publishedAt.getTime() > now.getTime() + clockToleranceMs) return null;
  return { publishedAt, fechaDato: limaDay(publishedAt) };
}
