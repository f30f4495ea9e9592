import { type RegisterName, registers } from '../../../schemas/registers.ts';
import { rucLength } from '../../../schemas/ruc.ts';
import { AvroCursor } from '../avro-cursor.ts';
import { headerBytes, schemaHeader, UndecodableRecord } from '../codec.ts';
import { partitionOf } from '../partition.ts';
import type { OutgoingRecord } from '../ports.ts';

/**
 * Cuts the blocks of a change file into records for Kafka. The records' bytes stay as the file has them: only the
 * five-byte header goes before each, and key and partition come from the RUC's bytes inside it.
 */
export class RecordCutter {
  readonly #cursor = new AvroCursor();
  readonly #header: Buffer;
  readonly #columns: number;
  readonly #edition: number;
  readonly #partitions: number;

  constructor(options: { register: RegisterName; edition: number; schemaId: number; partitions: number }) {
    this.#header = schemaHeader(options.schemaId);
    this.#columns = registers[options.register].columns.length;
    this.#edition = options.edition;
    this.#partitions = options.partitions;
  }

  /**
   * Records of one block of `count` records. Keys and values are views of one copy, so the block's own bytes are free
   * afterwards.
   * @throws UndecodableRecord where the block is not what the schema says, or of another edition
   */
  cut(block: Uint8Array, count: number): OutgoingRecord[] {
    const copy = Buffer.allocUnsafeSlow(block.length + count * headerBytes);
    const records: OutgoingRecord[] = new Array(count);
    const cursor = this.#cursor;
    cursor.reset(block, 0, block.length);
    let to = 0;
    for (let index = 0; index < count; index += 1) {
      const from = cursor.at;
      const rucAt = this.#skipRecord();
      copy.set(this.#header, to);
      copy.set(block.subarray(from, cursor.at), to + headerBytes);
      const keyAt = to + headerBytes + rucAt - from;
      const end = to + headerBytes + cursor.at - from;
      records[index] = {
        key: copy.subarray(keyAt, keyAt + rucLength),
        value: copy.subarray(to, end),
        partition: partitionOf(copy, keyAt, keyAt + rucLength, this.#partitions),
      };
      to = end;
    }
    cursor.finish();
    return records;
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
