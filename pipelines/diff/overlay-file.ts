import { decodeRecords } from '../changes/change-file.ts';
import type { OverlayReason } from '../changes/schema.ts';
import { encodeWindows1252 } from '../registers/windows-1252.ts';
import type { StoredRow } from './large/row-store.ts';
import { slackBytes } from './large/scan.ts';

/** A RUC whose state is not what the publication says; no row: it is not in the state. */
export interface OverlayEntry {
  ruc: string;
  reason: OverlayReason;
  line: number | null;
  /** By column, in the columns of the edition that wrote it. */
  row: Readonly<Record<string, string>> | null;
}

/** Goes through an overlay in RUC order, together with whatever the caller goes through in that order. */
export class OverlayReader {
  readonly #entries: AsyncGenerator<OverlayEntry> | null;
  #next: OverlayEntry | null = null;

  private constructor(path: string | null) {
    this.#entries = path === null ? null : decodeRecords<OverlayEntry>(path);
  }

  /** `path`: null for an edition without overlay. Errors: `change_file_damaged`. `close` must be called. */
  static async open(path: string | null): Promise<OverlayReader> {
    const reader = new OverlayReader(path);
    await reader.#advance();
    return reader;
  }

  /** Whether an entry below this RUC waits to be taken. */
  hasBelow(ruc: string): boolean {
    return this.#next !== null && this.#next.ruc < ruc;
  }

  /** The first entry, taken. */
  async take(): Promise<OverlayEntry> {
    const entry = this.#next!;
    await this.#advance();
    return entry;
  }

  /** Whether the first entry is of this RUC. */
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

/** A row of these cells, in the form of the row store. */
export function rowOfCells(ruc: string, cells: readonly string[]): StoredRow {
  const text = encodeWindows1252(`${[ruc, ...cells].join('|')}|`);
  const bytes = new Uint8Array(text.length + slackBytes);
  bytes.set(text);
  return { bytes, view: new DataView(bytes.buffer), start: 0, end: text.length };
}
