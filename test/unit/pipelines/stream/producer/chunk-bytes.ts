import type { PreparedChunk } from '../../../../../pipelines/stream/producer/records.ts';

/** All records of a partition, read from the chunk in the same way as the Kafka client reads them. */
export function bytesOf(chunk: PreparedChunk, partition: number): Buffer {
  type Groups = Record<number, { map(encode: () => object): { buffer: Buffer }[] } | undefined>;
  const groups = chunk.asMessages().reduce(() => null as never, {} as never) as unknown as Groups;
  return groups[partition]?.map(() => ({}))[0]?.buffer ?? Buffer.alloc(0);
}
