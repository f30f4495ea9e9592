import { isUtf8 } from 'node:buffer';

/** The text of a file, or a sentence that names its encoding and says what is wrong. The sentence quotes no word. */
export type DecodedText = { ok: true; text: string } | { ok: false; problem: string };

/**
 * Decodes a file that a person wrote. A byte order mark of UTF-8 is removed, and every other encoding is refused: text
 * in a wrong encoding would lose its accents without a sign of it.
 */
export function decodeUtf8(bytes: Uint8Array): DecodedText {
  const wide = wideEncodingOf(bytes);
  if (wide !== null) return { ok: false, problem: `It is encoded in ${wide}, and must be UTF-8.` };
  if (bytes.includes(0)) return { ok: false, problem: 'It has zero bytes, so it is no UTF-8 text.' };
  if (!isUtf8(bytes)) return { ok: false, problem: notUtf8(bytes) };
  const text = new TextDecoder().decode(bytes);
  const lost = text.indexOf(replacement);
  if (lost < 0) return { ok: true, text };
  const problem = `Line ${lineAt(text, lost)} has the character U+FFFD: a letter was lost in an earlier conversion to UTF-8.`;
  return { ok: false, problem };
}

/** Decoders put this character where bytes have no meaning in their encoding. */
const replacement = '\ufffd';

const marks: readonly [name: string, mark: readonly number[]][] = [
  ['UTF-32', [0xff, 0xfe, 0, 0]],
  ['UTF-32', [0, 0, 0xfe, 0xff]],
  ['UTF-16', [0xff, 0xfe]],
  ['UTF-16', [0xfe, 0xff]],
];

/**
 * Returns the encoding when its characters have two or four bytes. Without a byte order mark, the zero bytes of the
 * first two characters show it, because texts begin with ASCII characters (RFC 4627, section 3).
 */
function wideEncodingOf(bytes: Uint8Array): string | null {
  const marked = marks.find(([, mark]) => mark.every((byte, at) => bytes[at] === byte));
  if (marked !== undefined) return marked[0];
  const zeros = [...bytes.subarray(0, 4)].map((byte) => (byte === 0 ? '0' : 'x')).join('');
  if (zeros === '000x' || zeros === 'x000') return 'UTF-32';
  return zeros === '0x0x' || zeros === 'x0x0' ? 'UTF-16' : null;
}

/**
 * Matches a text with only those characters that a Spanish text in Windows-1252 may have. The text is decoded as ISO
 * 8859-1, so the signs of Windows-1252 from 0x80 to 0x9f are \x80 to \x9f here. `TextDecoder` is not used, because Node
 * 20 reads its label "windows-1252" as ISO 8859-1.
 */
const spanishBytes = /^[\t\n\r -~áéíóúüñÁÉÍÓÚÜÑ¡¿ªº°«»´·\x80\x85\x91-\x94\x96\x97\xa0]*$/;
/** The bytes a0 and a1 between letters: "á" and "í" in the code page of DOS, a space and "¡" in Windows-1252. */
const dosLetters = /[A-Za-z][\xa0\xa1][a-z]/;

function notUtf8(bytes: Uint8Array): string {
  const lenient = Buffer.from(bytes).toString('utf8');
  const at = lenient.indexOf(replacement);
  const byte = bytes[Buffer.byteLength(lenient.slice(0, at))]!;
  const place = `line ${lineAt(lenient, at)} has the byte 0x${byte.toString(16)}`;
  const latin = Buffer.from(bytes).toString('latin1');
  if (spanishBytes.test(latin) && !dosLetters.test(latin))
    return `It is encoded in Windows-1252, and must be UTF-8: ${place}.`;
  return `It is encoded neither in UTF-8 nor in Windows-1252: ${place}.`;
}

function lineAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}
