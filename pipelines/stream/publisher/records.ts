import { type RegisterName, registers } from '../../../schemas/registers.ts';
import { rucLength } from '../../../schemas/ruc.ts';
import { AvroCursor } from '../avro-cursor.ts';
import { schemaHeader, UndecodableRecord } from '../codec.ts';
import { partitionOf } from '../partition.ts';
import type { PreparedChunk } from '../prepared-chunk.ts';

/**
 * Puts the blocks of a change file into chunks for Kafka. The records' bytes stay as the file has them: only the five-byte
 * header goes before each, and key and partition come from the RUC's bytes inside it.
 */
export class RecordCutter {
  readonly #cursor = new AvroCursor();
  readonly #header: Buffer;
  readonly #columns: number;
  readonly #edition: number;
  /** Records seen so far, by partition. */
  readonly rowsByPartition: number[];

  constructor(options: { register: RegisterName; edition: number; schemaId: number; partitions: number }) {
    this.#header = schemaHeader(options.schemaId);
    this.#columns = registers[options.register].columns.length;
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
      const rucAt = this.#skipRecord();
      const partition = partitionOf(block, rucAt, rucAt + rucLength, rows.length);
      rows[partition]! += 1;
      chunk?.add(partition, this.#header, block, start, cursor.at, rucAt, rucAt + rucLength);
    }
    cursor.finish();
  }

  /** Moves past one record; where its RUC's digits begin. */
  #skipRecord(): number {
    const cursor = this.#cursor;
    if (cursor.long() !== this.#edition) throw new UndecodableRecord('of another edition');
    cursor.long();
    cursor.long();
    if (cursor.stringLength() !== rucLength) throw new UndecodableRecord('a RUC of another length');
    const rucAt = cursor.at;
    cursor.at += rucLength;
    for (let row = 0; row < 2; row += 1) {
      if (!cursor.isThere()) continue;
      for (let column = 0; column < this.#columns; column += 1) {
        const length = cursor.stringLength();
        cursor.at += length;
      }
    }
    if (cursor.isThere()) cursor.long();
    cursor.long();
    if (cursor.isThere()) cursor.long();
    if (cursor.at > cursor.end) throw new UndecodableRecord('longer than its block');
    return rucAt;
  }
}
