import { limaDay } from '../../schemas/lima-time.ts';
import type { RegisterName } from '../../schemas/registers.ts';

/** All that the pipeline knows of one register: where it is published and how its bytes read. One folder each. */
export interface RegisterModule {
  register: RegisterName;
  source: RegisterSource;
  format: LargeFormat | SmallFormat;
}

export interface RegisterSource {
  /** Official address; `{AAAAMM}` stands for a month. The setting SOURCE_<REGISTER>_URL replaces it. */
  url: string;
  /** Page that says when the register was last published; SOURCE_<REGISTER>_PAGE_URL replaces it. Null: there is none. */
  pageUrl: string | null;
  container: Container;
  date: SourceDating;
}

/** A zip with exactly one entry of this name, or the text itself. */
export type Container = { kind: 'zip'; entry: RegExp } | { kind: 'plain' };

/** Where the date of the data comes from. Publication time is `Last-Modified` where the source has one. */
export type SourceDating =
  /** `Last-Modified` of the GET that gave the bytes; without one, the page's date. */
  | { from: 'last_modified'; orPage(html: string): SourceDate | null }
  /** The page's date, always: the files' own headers say when a server copied them. Text: why the page gives none. */
  | { from: 'page'; read(html: string): SourceDate | string }
  /** The text itself (its first 64 KB): YYYY-MM-DD, or null when it says none. */
  | { from: 'text'; read(start: Buffer): string | null };

/** Registers of millions of rows: read as bytes, row by row, into the index and row store of pipelines/diff. */
export interface LargeFormat {
  size: 'large';
  /** Cells of a row, the RUC first; each is closed by a pipe. */
  cells: number;
  /** Texts that stand for nothing in this register. They are stored as they are; only counts treat them alike. */
  emptyMarkers: readonly string[];
  /** Null when the first line of the text is the known header, else what is wrong with it; never quotes the line. */
  problemOfHeader(line: Uint8Array): string | null;
  /**
   * Turns the text as published into the form that the scanner reads: a header line, then one line per row, cells closed by
   * pipes, LF, Windows-1252; line n stays line n. A line that is no row comes through as it is, so that it is rejected with
   * its own bytes. Left out: the register is published in that form.
   */
  canonical?(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer>;
}

/** Registers of at most 200,000 lines: read whole and compared in memory. */
export interface SmallFormat {
  size: 'small';
  /** @throws CompareError `header_changed` */
  read(text: Buffer): SmallText;
}

/**
 * Why a line of a small register is listed. No row: `cell_count`, `ruc_format`, `ruc_prefix`, `ruc_check_digit`, `id_format`
 * (a supplier without an id, or with one that is too long). A row all the same: `control_byte` (now a space), `other_cut` (its
 * cut-off date is not the file's). `duplicate`: a repeat, of which one counts.
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

/** Listed lines that count as rows all the same. */
export const keptReasons: ReadonlySet<string> = new Set<ListedReason>(['control_byte', 'other_cut']);

export interface SmallText {
  /** Rows by key (RUC, or a supplier's id), in any order; of repeats the last one. Cells in the order of the columns. */
  rows: Map<string, { cells: readonly string[]; line: number }>;
  /** Data lines, bad and repeated ones included. */
  lines: number;
  /** Lines that an operator should see; `key` where a line that is no row names one, whose known row then stays. */
  listed: readonly { line: number; reason: ListedReason; key: string | null; raw: Buffer }[];
}

/** When a publication was published, and the day of its data (YYYY-MM-DD, in Lima). */
export interface SourceDate {
  publishedAt: Date;
  fechaDato: string;
}

/** A site's clock may run ahead of ours by so much; a date further ahead is no date. */
export const clockToleranceMs = 24 * 60 * 60 * 1000;
const httpDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The date of an HTTP `Last-Modified` (RFC 9110 5.6.7). Null when absent, malformed or in the future. */
export function dateFromLastModified(lastModified: string | null, now: Date): SourceDate | null {
  if (lastModified === null || !httpDate.test(lastModified)) return null;
  const publishedAt = new Date(lastModified);
  if (Number.isNaN(publishedAt.getTime()) || publishedAt.getTime() > now.getTime() + clockToleranceMs) return null;
  return { publishedAt, fechaDato: limaDay(publishedAt) };
}
