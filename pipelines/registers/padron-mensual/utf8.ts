import { codePointOf, unreadableByte } from '../windows-1252.ts';

/**
 * Length in bytes of the UTF-8 character that begins at `at` (RFC 3629: no overlong form, no surrogate), or 0 when none
 * does. The bytes must end with one that continues no character.
 */
export function characterLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0xc2 || first > 0xf4) return 0;
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (let next = at + 1; next < at + length; next += 1) if ((bytes[next]! & 0xc0) !== 0x80) return 0;
  const second = bytes[at + 1]!;
  if (first === 0xe0 && second < 0xa0) return 0;
  if (first === 0xed && second > 0x9f) return 0;
  if (first === 0xf0 && second < 0x90) return 0;
  if (first === 0xf4 && second > 0x8f) return 0;
  return length;
}

const lastCodePoint = codePointOf.reduce((most, point) => (point === 0xfffd ? most : Math.max(most, point)), 0);
const byteOf = new Uint8Array(lastCodePoint + 1).fill(unreadableByte);
for (let byte = 0; byte < 256; byte += 1) if (codePointOf[byte] !== 0xfffd) byteOf[codePointOf[byte]!] = byte;

/** Windows-1252 byte of the character of `length` bytes at `at`; one that Windows-1252 lacks is `unreadableByte`. */
export function windows1252Of(bytes: Uint8Array, at: number, length: number): number {
  if (length > 3) return unreadableByte;
  let point = bytes[at]! & (length === 2 ? 0x1f : 0x0f);
  for (let next = at + 1; next < at + length; next += 1) point = (point << 6) | (bytes[next]! & 0x3f);
  return byteOf[point] ?? unreadableByte;
}
