import { AvroCursor, schemaHeader, UndecodableRecord } from '../../changes/record.ts';
import { RecordLayout } from '../../changes/record-layout.ts';
import { partitionOf } from '../partition.ts';
import type { PreparedChunk } from '../prepared-chunk.ts';

/**
 * Puts the blocks of a change file into chunks for Kafka. The records' bytes stay as the file has them: only the five-byte
 * header goes before each, and key and partition come from the key's bytes inside it (a RUC, or a supplier's id).
 */
export class RecordCutter {
  readonly #cursor = new AvroCursor();
  readonly #header: Buffer;
  readonly #layout: RecordLayout;
  readonly #edition: number;
  #keyAt = 0;
  #keyEnd = 0;
  /** Records seen so far, by partition. */
  readonly rowsByPartition: number[];

  /** `schema`: the one that the file carries, as parsed JSON; `schemaId`: its number in the registry. */
  constructor(options: { schema: unknown; schemaId: number; edition: number; partitions: number }) {
    this.#header = schemaHeader(options.schemaId);
    this.#layout = new RecordLayout(options.schema);
    this.#edition = options.edition;
    this.rowsByPartition = new Array(options.partitions).fill(0);
  }

  /**
   * Adds one block of `count` records to the chunk; without a chunk they are only counted.
   * @throws UndecodableRecord where the block is not what the schema says, or of another edition
   */
  cut(block: Uint8Array, count: number, chunk: PreparedChunk | null): void {
    const cursor = this.#cursor;
    const rows = this.rowsByPartition;
    cursor.reset(block, 0, block.length);
    for (let index = 0; index < count; index += 1) {
      const start = cursor.at;
      this.#skipRecord();
      const partition = partitionOf(block, this.#keyAt, this.#keyEnd, rows.length);
      rows[partition]! += 1;
      chunk?.add(partition, this.#header, block, start, cursor.at, this.#keyAt, this.#keyEnd);
    }
    cursor.finish();
  }

  /** Moves past one record and notes where its key stands. */
  #skipRecord(): void {
    const cursor = this.#cursor;
    if (cursor.long() !== this.#edition) throw new UndecodableRecord('of another edition');
    cursor.long();
    cursor.long();
    const keyLength = cursor.stringLength();
    if (keyLength === 0) throw new UndecodableRecord('an empty key');
    this.#keyAt = cursor.at;
    cursor.at += keyLength;
    this.#keyEnd = cursor.at;
    this.#layout.skipAfterKey(cursor);
  }
}
