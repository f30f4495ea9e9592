import { checkDigit, rucPrefixes } from '../../../schemas/ruc.ts';
import { decodeWindows1252, encodeWindows1252 } from '../windows-1252.ts';

/**
 * The daily register's text: one header line, then one line per RUC, 15 cells each closed by a pipe, LF (or CR LF),
 * Windows-1252, no quoting. Facts and their sources: research on the registers, section 1.
 */
export const cellsPerLine = 15;
export const header =
  'RUC|NOMBRE O RAZÓN SOCIAL|ESTADO DEL CONTRIBUYENTE|CONDICIÓN DE DOMICILIO|UBIGEO|TIPO DE VÍA|NOMBRE DE VÍA|' +
  'CÓDIGO DE ZONA|TIPO DE ZONA|NÚMERO|INTERIOR|LOTE|DEPARTAMENTO|MANZANA|KILÓMETRO|';

/** Longest line read; the widest official cells add up to some 250 bytes. The pipe count in scan.ts relies on ≤ 1,000. */
export const maxLineBytes = 1000;

export const pipe = 0x7c;
export const lineFeed = 0x0a;
export const carriageReturn = 0x0d;

/**
 * A RUC as a number: index of its prefix × 10⁸ + its eight digits; the check digit is implied by them. Keys order as
 * the RUCs do, and all of them lie below `keyLimit`, so one bit per possible RUC is 62.5 MB.
 */
export const keyLimit = rucPrefixes.length * 100_000_000;
export const noKey = 0xffffffff;

/** Two digits → first key of that prefix, or -1. */
export const keyOfPrefix = Int32Array.from({ length: 100 }, (_, prefix) => {
  const index = (rucPrefixes as readonly string[]).indexOf(String(prefix).padStart(2, '0'));
  return index < 0 ? -1 : index * 100_000_000;
});

/** Weighted digit sum (≤ 369) → check digit. */
export const checkDigitOfSum = Uint8Array.from({ length: 370 }, (_, sum) => (11 - (sum % 11)) % 10);

export function prefixOfKey(key: number): string {
  return rucPrefixes[Math.floor(key / 100_000_000)]!;
}

export function rucOfKey(key: number): string {
  const ten = prefixOfKey(key) + String(key % 100_000_000).padStart(8, '0');
  return ten + checkDigit(ten);
}

/** The key of eleven digits at `start`, whatever their check digit says; `noKey` when they cannot name a taxpayer. */
export function keyAt(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 11) return noKey;
  let digits = 0;
  for (let at = start; at < start + 10; at += 1) {
    const digit = bytes[at]! - 48;
    if (digit < 0 || digit > 9) return noKey;
    digits = digits * 10 + digit;
  }
  const first = keyOfPrefix[Math.floor(digits / 100_000_000)]!;
  return first < 0 ? noKey : first + (digits % 100_000_000);
}

export type LineProblem =
  | 'too_long'
  | 'ruc_format'
  | 'ruc_prefix'
  | 'ruc_check_digit'
  | 'control_byte'
  | 'cell_count'
  | 'text_after_last_cell';

/**
 * Why a line is no row, or null when it is one. The plain statement of the rule that scan.ts applies fast.
 * `end` excludes the line end.
 */
export function problemOfLine(bytes: Uint8Array, start: number, end: number): LineProblem | null {
  if (end - start > maxLineBytes) return 'too_long';
  for (let at = start; at < start + 11; at += 1) {
    if (at >= end || bytes[at]! < 48 || bytes[at]! > 57) return 'ruc_format';
  }
  if (bytes[start + 11] !== pipe || start + 11 >= end) return 'ruc_format';
  const key = keyAt(bytes, start, end);
  if (key === noKey) return 'ruc_prefix';
  if (rucOfKey(key).charCodeAt(10) !== bytes[start + 10]) return 'ruc_check_digit';
  let pipes = 0;
  for (let at = start; at < end; at += 1) {
    if (bytes[at]! < 0x20) return 'control_byte';
    if (bytes[at] === pipe) pipes += 1;
  }
  if (pipes !== cellsPerLine) return 'cell_count';
  return bytes[end - 1] === pipe ? null : 'text_after_last_cell';
}

/** Ends of the 15 cells (the positions of their pipes) of a good row at `start`, written to `ends`. */
export function cellEnds(bytes: Uint8Array, start: number, ends: Int32Array): void {
  let at = start;
  for (let cell = 0; cell < cellsPerLine; cell += 1) {
    while (bytes[at] !== pipe) at += 1;
    ends[cell] = at;
    at += 1;
  }
}

/** The 15 cells of a good row as text, the RUC first. For tools and tests: the comparison makes no strings. */
export function cellsOfRow(bytes: Uint8Array, start: number): string[] {
  const ends = new Int32Array(cellsPerLine);
  cellEnds(bytes, start, ends);
  return Array.from(ends, (end, cell) => decodeWindows1252(bytes, cell === 0 ? start : ends[cell - 1]! + 1, end));
}

/** The bytes of a row without its line end. */
export function rowBytes(cells: readonly string[]): Uint8Array {
  return encodeWindows1252(`${cells.join('|')}|`);
}

/** Texts that stand for nothing in this register. They are stored as they are; only counts treat them alike. */
export const emptyMarkers: readonly string[] = ['', '-', '--', '----', '-.-'];

/**
 * Null when the first line is the known header, else what is wrong with it. Never quotes the line: where the header is
 * missing, it is a person's row.
 */
export function problemOfHeader(line: Uint8Array): string | null {
  const expected = encodeWindows1252(header);
  if (Buffer.compare(line, expected) === 0) return null;
  if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) return 'it begins with a UTF-8 mark';
  if (Buffer.compare(line, Buffer.from(header, 'utf8')) === 0) return 'it is written in UTF-8 instead of Windows-1252';
  if (keyAt(line, 0, line.length) !== noKey) return 'the first line is a row';
  const found = decodeWindows1252(line, 0, line.length).split('|').slice(0, -1);
  const names = header.split('|').slice(0, -1);
  if (found.length !== names.length) return `it has ${found.length} columns, expected ${names.length}`;
  const differs = names.findIndex((name, column) => found[column] !== name);
  return `column ${differs + 1} is not called ${names[differs]}`;
}
