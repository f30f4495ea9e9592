import type { RegisterName } from '../../schemas/registers.ts';
import { stateKeyOf } from '../../schemas/ruc.ts';
import { openChangeFile } from '../changes/change-file.ts';
import type { ChangeRecords } from './change-records.ts';
import type { RowHash } from './row-hash.ts';
import { ReplayError } from './types.ts';

interface OverlayEntry {
  ruc: string;
  row: Record<string, string> | null;
}

/** Stands in place of a row's hash for a key that the publication has and the state must not have. */
const absent = 'absent';
const maxRows = 1_000_000;

/**
 * The rows in which a state differs from its publication on purpose, as hashes by key. First pass every row of the
 * state to `take`. Then ask `explains` about each difference between state and publication.
 */
export class ExpectedOverlay {
  readonly #rows = new Map<number, string>();
  readonly #taken = new Set<number>();
  readonly #wrong: number[] = [];

  /**
   * @throws ReplayError `overlay_too_large` for more than `maxRows` rows, `change_file_damaged` when the file is of
   * another register; CompareError when the file itself is damaged
   */
  static async read(path: string | null, register: RegisterName, hash: RowHash) {
    const overlay = new ExpectedOverlay();
    if (path === null) return overlay;
    const file = await openChangeFile(path);
    try {
      if (file.header.register !== register)
        throw new ReplayError('change_file_damaged', 'an overlay of another register');
      for await (const entries of file.decodedBlocks<OverlayEntry>()) {
        for (const { ruc, row } of entries) {
          overlay.#rows.set(stateKeyOf(ruc), row === null ? absent : hash.ofText(textOf(row)));
        }
        if (overlay.#rows.size > maxRows)
          throw new ReplayError('overlay_too_large', `an overlay of more than ${maxRows} rows`);
      }
    } finally {
      await file.close();
    }
    return overlay;
  }

  /** Compares a row of the state with the overlay, if the overlay has its key. */
  take(record: ChangeRecords, hash: RowHash): void {
    const expected = this.#rows.get(record.stateKey);
    if (expected === undefined) return;
    this.#taken.add(record.stateKey);
    if (expected !== hash.ofCells(record, record.afterAt)) this.#wrong.push(record.stateKey);
  }

  /** Returns the keys whose row in the state is not the overlay's row. Call this after the last row of the state. */
  contradicted(): number[] {
    const gone = [...this.#rows].filter(([key, row]) => row !== absent && !this.#taken.has(key)).map(([key]) => key);
    return [...this.#wrong, ...gone];
  }

  /**
   * Whether the overlay contains this difference between state and publication. The record's `before` is the state's
   * row, and its `after` is the publication's row.
   */
  explains(record: ChangeRecords, hash: RowHash): boolean {
    const row = record.beforeAt < 0 ? absent : hash.ofCells(record, record.beforeAt);
    return this.#rows.get(record.stateKey) === row;
  }
}

/** Returns a row as the JSON text that the state stores. */
function textOf(row: Record<string, string>): string {
  return JSON.stringify(Object.values(row));
}
