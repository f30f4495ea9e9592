// The hash of Kafka's own Java client (murmur2, seed 0x9747b28c), so that any other producer puts a RUC in the same place.
const seed = 0x9747b28c;
const multiplier = 0x5bd1e995;

/**
 * Partition of a key: the bytes [start, end) of `bytes`. Never change it: a RUC's records are in order only within one
 * partition, and the count of partitions may grow only between editions.
 */
export function partitionOf(bytes: Uint8Array, start: number, end: number, partitions: number): number {
  return (murmur2(bytes, start, end) & 0x7fffffff) % partitions;
}

/** 32-bit hash, signed. */
export function murmur2(bytes: Uint8Array, start: number, end: number): number {
  let hash = seed ^ (end - start);
  let at = start;
  for (; at + 4 <= end; at += 4) {
    let block = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    block = Math.imul(block, multiplier);
    block ^= block >>> 24;
    hash = Math.imul(hash, multiplier) ^ Math.imul(block, multiplier);
  }
  const left = end - at;
  if (left === 3) hash ^= bytes[at + 2]! << 16;
  if (left >= 2) hash ^= bytes[at + 1]! << 8;
  if (left >= 1) hash = Math.imul(hash ^ bytes[at]!, multiplier);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, multiplier);
  return hash ^ (hash >>> 15);
}
