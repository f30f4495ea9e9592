/**
 * Code points of the bytes 0x80 to 0x9f. Windows-1252 leaves five of these bytes undefined. Here the five bytes become
 * U+FFFD, which a person sees as unreadable. The WHATWG decoder would make invisible control characters.
 */
const upperHalf = [
  0x20ac, 0xfffd, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0xfffd,
  0x017d, 0xfffd, 0xfffd, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a,
  0x0153, 0xfffd, 0x017e, 0x0178,
];

/** The byte that stands for U+FFFD when text becomes bytes again. It is the first of the five undefined bytes. */
export const unreadableByte = 0x81;

export const codePointOf = Uint16Array.from({ length: 256 }, (_, byte) => upperHalf[byte - 0x80] ?? byte);

/** Maps each of the four undefined bytes other than `unreadableByte` to 1, and every other byte to 0. */
export const isStrayByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  codePointOf[byte] === 0xfffd && byte !== unreadableByte ? 1 : 0,
);

/** Each byte's character in UTF-8: `utf8Length[byte]` bytes that begin at `utf8Bytes[3 × byte]`. */
export const utf8Length = new Uint8Array(256);
export const utf8Bytes = new Uint8Array(256 * 3);
const byteOf = new Map<number, number>();
for (let byte = 255; byte >= 0; byte -= 1) {
  const encoded = Buffer.from(String.fromCodePoint(codePointOf[byte]!), 'utf8');
  utf8Length[byte] = encoded.length;
  utf8Bytes.set(encoded, byte * 3);
  byteOf.set(codePointOf[byte]!, byte);
}

const undefinedOrPunctuation = /[\u0080-\u009f]/g;

/** Decodes the bytes `[start, end)`. Each byte gives one character. */
export function decodeWindows1252(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start)
    .toString('latin1')
    .replace(undefinedOrPunctuation, (character) => String.fromCharCode(codePointOf[character.charCodeAt(0)]!));
}

/** Does the reverse of `decodeWindows1252`. @throws RangeError for a character that Windows-1252 lacks */
export function encodeWindows1252(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = byteOfCodePoint(text.charCodeAt(at));
  return bytes;
}

/** Returns the byte of one character, and `unreadableByte` for U+FFFD. */
export function byteOfCodePoint(codePoint: number): number {
  const byte = byteOf.get(codePoint);
  if (byte === undefined) throw new RangeError(`no Windows-1252 byte for U+${codePoint.toString(16)}`);
  return byte;
}

const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const space = 0x20;

export interface TextLine {
  /** Line number, from 1. */
  line: number;
  /** The line without its line end. */
  bytes: Buffer;
}

/**
 * Yields the lines of a text. CR, CR LF and LF each end a line. SUNAT ends the lines of its lists with CR alone. A last
 * line without a line end is also a line. Empty lines are left out, but count in the line numbers.
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

/** Splits a line at its pipes and decodes Windows-1252. Quotes are data. A control byte (TAB, NUL) becomes a space. */
export function cellsOf(bytes: Buffer): { cells: string[]; hadControls: boolean } {
  const hadControls = bytes.some(isControl);
  const readable = hadControls ? bytes.map((byte) => (isControl(byte) ? space : byte)) : bytes;
  return { cells: decodeWindows1252(readable, 0, readable.length).split('|'), hadControls };
}

function isControl(byte: number): boolean {
  return byte < space;
}
