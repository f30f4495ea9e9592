import { keyLimit } from '../registers/ruc-key.ts';

/**
 * The key space in ranges of 2¹⁹ keys. Index, spilled rows and merge go range by range, so that nothing of the
 * register's size is ever sorted and what is held at once stays small.
 */
export const bucketBits = 19;
export const keysPerBucket = 1 << bucketBits;
export const bucketCount = Math.ceil(keyLimit / keysPerBucket);
/** `bucketCount` rounded up to a power of two. */
export const maxBuckets = 1024;
export const wordsPerBucket = keysPerBucket >>> 5;

export function popCount(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
