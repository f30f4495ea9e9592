import { decodeWindows1252 } from './windows-1252.ts';

const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const space = 0x20;

export interface TextLine {
  /** From 1. */
  line: number;
  /** Without the line end. */
  bytes: Buffer;
}

/**
 * Lines of a small text. CR, CR LF and LF alike end one, since SUNAT's lists are written with CR alone. A last line without
 * an end counts. Empty lines say nothing: they are left out, and counted only in the numbers of those after them.
 */
export function* linesOf(text: Buffer): Generator<TextLine, undefined> {
  let line = 1;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at];
    if (byte !== carriageReturn && byte !== lineFeed) continue;
    if (at > start) yield { line, bytes: text.subarray(start, at) };
    line += 1;
    if (byte === carriageReturn && text[at + 1] === lineFeed) at += 1;
    start = at + 1;
  }
  if (start < text.length) yield { line, bytes: text.subarray(start) };
  return undefined;
}

/** Cells between pipes, decoded as Windows-1252; quotes are data. A control byte (a TAB, a NUL) reads as a space. */
export function cellsOf(bytes: Buffer): { cells: string[]; hadControls: boolean } {
  const hadControls = bytes.some(isControl);
  const readable = hadControls ? bytes.map((byte) => (isControl(byte) ? space : byte)) : bytes;
  return { cells: decodeWindows1252(readable, 0, readable.length).split('|'), hadControls };
}

function isControl(byte: number): boolean {
  return byte < space;
}
