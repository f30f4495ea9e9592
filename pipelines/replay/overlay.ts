import { type RegisterName, registers } from '../../schemas/registers.ts';
import { rucLength, stateKeyOf } from '../../schemas/ruc.ts';
import { openChangeFile } from '../changes/change-file.ts';
import type { ChangeRecords } from './change-records.ts';
import type { RowHash } from './row-hash.ts';
import { ReplayError } from './types.ts';

interface OverlayEntry {
  ruc: string;
  row: Record<string, string> | null;
}

/** Stands for "the publication has the key and the state does not". */
const absent = 'absent';

/**
 * The rows in which a state differs from its publication on purpose: by key a hash of the row that the state must have. Met by
 * the state's rows first, then asked for each difference between state and publication.
 */
export class ExpectedOverlay {
  readonly #rows = new Map<number, string>();
  readonly #met = new Set<number>();
  readonly #wrong: number[] = [];

  /** @throws ReplayError `overlay_too_large`, `change_file_damaged` */
  static async read(path: string | null, register: RegisterName, hash: RowHash, maxRows: number) {
    const overlay = new ExpectedOverlay();
    if (path === null) return overlay;
    const file = await openChangeFile(path);
    try {
      if (file.header.register !== register)
        throw new ReplayError('change_file_damaged', 'an overlay of another register');
      for await (const entries of file.decodedBlocks<OverlayEntry>()) {
        for (const { ruc, row } of entries) {
          overlay.#rows.set(keyOf(register, ruc), row === null ? absent : hash.ofText(textOf(row)));
        }
        if (overlay.size > maxRows)
          throw new ReplayError('overlay_too_large', `an overlay of more than ${maxRows} rows`);
      }
    } finally {
      await file.close();
    }
    return overlay;
  }

  get size(): number {
    return this.#rows.size;
  }

  /** A row of the state. */
  meet(record: ChangeRecords, hash: RowHash): void {
    const expected = this.#rows.get(record.stateKey);
    if (expected === undefined) return;
    this.#met.add(record.stateKey);
    if (expected !== hash.ofCells(record, record.afterAt)) this.#wrong.push(record.stateKey);
  }

  /** Once all rows of the state were met: keys whose row in the state is not the overlay's. */
  contradicted(): number[] {
    const gone = [...this.#rows].filter(([key, row]) => row !== absent && !this.#met.has(key)).map(([key]) => key);
    return [...this.#wrong, ...gone];
  }

  /** Whether a difference from the state to the publication is one that the overlay names. */
  explains(record: ChangeRecords, hash: RowHash): boolean {
    const row = record.beforeAt < 0 ? absent : hash.ofCells(record, record.beforeAt);
    return this.#rows.get(record.stateKey) === row;
  }
}

function keyOf(register: RegisterName, id: string): number {
  return registers[register].key === 'ruc' && id.length === rucLength ? Number(id) : stateKeyOf(id);
}

/** As the state's rows are written. */
function textOf(row: Record<string, string>): string {
  return JSON.stringify(Object.values(row));
}
