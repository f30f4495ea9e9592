import { z } from 'zod';
import { keyLimit } from '../../registers/ruc-key.ts';

/**
 * A key is the number of a RUC (`ruc-key.ts`). A bucket is a range of 2¹⁹ keys. `IndexBuilder`, `Spill` and `Merge`
 * work on one bucket at a time. So they never sort a whole register.
 */
export const bucketBits = 19;
export const keysPerBucket = 1 << bucketBits;
export const bucketCount = Math.ceil(keyLimit / keysPerBucket);
/** `bucketCount` rounded up to a power of two. The kernel masks bucket numbers with `maxBuckets - 1`. */
export const maxBuckets = 1024;
export const wordsPerBucket = keysPerBucket >>> 5;

export function popCount(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.number().int().nonnegative();

/**
 * Length of an index file's first block: the length of the header's JSON (4 bytes, little-endian), the JSON, and zeros.
 * Each bucket that has rows follows, with its bitmap (64 KB, one bit per key) and its entries in RUC order. An entry
 * takes 12 bytes: the row's hash (two lanes of 32 bits) and the row's position in the row store. The file must hold no
 * times. Otherwise a rebuild could not give the same bytes.
 */
export const headerBytes = 64 * 1024;

const indexHeaderSchema = z.object({
  format: z.literal('padron-index-1'),
  register: z.string(),
  edition: count,
  changeFileSha256: sha256,
  parserVersion: count,
  columns: z.array(z.string()),
  hashSeed: z.object({ first: count, second: count }),
  rows: count,
  rowsByKind: z.record(z.string(), count),
  emptyByColumn: z.record(z.string(), count),
  /** The files of the row store, one for each edition that wrote rows. Joined in this order, they are the store. */
  segments: z.array(z.object({ changeFileSha256: sha256, bytes: count })),
  /** Number of rows in each bucket. */
  buckets: z.array(count).length(bucketCount),
  bodyBytes: count,
  bodyCrc32: count,
});
export type IndexHeader = z.infer<typeof indexHeaderSchema>;

export function encodeHeader(header: IndexHeader): Buffer {
  const json = Buffer.from(JSON.stringify(header), 'utf8');
  if (json.length + 4 > headerBytes) throw new RangeError(`an index header of ${json.length} bytes does not fit`);
  const block = Buffer.alloc(headerBytes);
  block.writeUInt32LE(json.length, 0);
  json.copy(block, 4);
  return block;
}

/** Returns null if the block is not a header of this format. */
export function decodeHeader(block: Buffer): IndexHeader | null {
  const length = block.readUInt32LE(0);
  if (length > headerBytes - 4) return null;
  try {
    return indexHeaderSchema.parse(JSON.parse(block.toString('utf8', 4, 4 + length)));
  } catch {
    return null;
  }
}
