import { decodeRecords } from '../changes/change-file.ts';
import type { OverlayReason } from '../changes/schema.ts';
import { encodeWindows1252 } from '../registers/windows-1252.ts';
import type { StoredRow } from './large/row-store.ts';
import { slackBytes } from './large/scan.ts';

/** A RUC whose row in the state differs from its row in the publication. `row` is null when the state lacks the RUC. */
export interface OverlayEntry {
  ruc: string;
  reason: OverlayReason;
  line: number | null;
  /** Cells by column name. The columns are those of the edition that wrote the entry. */
  row: Readonly<Record<string, string>> | null;
}

/** Reads an overlay in RUC order, for a caller that goes through other rows in the same order. */
export class OverlayReader {
  readonly #entries: AsyncGenerator<OverlayEntry> | null;
  #next: OverlayEntry | null = null;

  private constructor(path: string | null) {
    this.#entries = path === null ? null : decodeRecords<OverlayEntry>(path);
  }

  /**
   * `path` is null for an edition without an overlay. The caller must call `close`.
   * @throws CompareError `change_file_damaged`
   */
  static async open(path: string | null): Promise<OverlayReader> {
    const reader = new OverlayReader(path);
    await reader.#advance();
    return reader;
  }

  /** Whether the RUC of the next entry is lower than `ruc`. */
  hasBelow(ruc: string): boolean {
    return this.#next !== null && this.#next.ruc < ruc;
  }

  async take(): Promise<OverlayEntry> {
    const entry = this.#next!;
    await this.#advance();
    return entry;
  }

  isAt(ruc: string): boolean {
    return this.#next?.ruc === ruc;
  }

  async close(): Promise<void> {
    await this.#entries?.return(undefined);
  }

  async #advance(): Promise<void> {
    const step = await this.#entries?.next();
    this.#next = step === undefined || step.done === true ? null : step.value;
  }
}

/** Makes a row of a large register from its RUC and its other cells, in the form that the row store has. */
export function rowOfCells(ruc: string, cells: readonly string[]): StoredRow {
  const text = encodeWindows1252(`${[ruc, ...cells].join('|')}|`);
  const bytes = new Uint8Array(text.length + slackBytes);
  bytes.set(text);
  return { bytes, view: new DataView(bytes.buffer), start: 0, end: text.length };
}
