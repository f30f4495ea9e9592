import { readHttpDate } from '../conditional.ts';

// Ranges of bytes (RFC 9110, section 14).

/** The bytes that a request asks for, both ends included. */
export interface ByteRange {
  first: number;
  last: number;
}

/**
 * Reads the header Range for a file of this size. A header that is malformed, of another unit, or names several ranges
 * is ignored, as the RFC allows: the answer is then the whole file.
 */
export function rangeOf(header: string | undefined, bytes: number): ByteRange | 'whole' | 'unsatisfiable' {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header ?? '');
  if (match === null) return 'whole';
  const [, from, to] = match as unknown as [string, string, string];
  if (from === '' && to === '') return 'whole';
  if (from === '') {
    const length = Math.min(Number(to), bytes);
    return length === 0 ? 'unsatisfiable' : { first: bytes - length, last: bytes - 1 };
  }
  const first = Number(from);
  if (to !== '' && Number(to) < first) return 'whole';
  if (first >= bytes) return 'unsatisfiable';
  return { first, last: to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1) };
}

/**
 * Whether the part that a client has is of this file, by the header If-Range. Only equal strong tags and equal dates
 * count (section 13.1.5).
 */
export function isSameFile(header: string | undefined, etag: string, modifiedMs: number): boolean {
  if (header === undefined) return true;
  const text = header.trim();
  return text === etag || readHttpDate(text, Date.now()) === modifiedMs;
}
