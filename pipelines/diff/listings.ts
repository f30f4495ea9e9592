import { join } from 'node:path';
import { keptReasons, type ListedReason } from '../registers/module.ts';
import type { LineProblem } from './large/scan.ts';
import { writeWhole } from './work-files.ts';

export interface Listing {
  path: string;
  bytes: number;
}

const entriesPerWrite = 1000;

/**
 * Writes a file for an operator: one JSON object per line for each entry, then one with the number of omitted entries.
 * The file gets its name only when it is whole. Returns null when there is nothing to list.
 */
function writeListing(
  folder: string,
  attempt: string,
  name: string,
  entries: readonly object[],
  omitted: number,
): Listing | null {
  if (entries.length + omitted === 0) return null;
  const bytes = writeWhole(folder, attempt, name, textsOf(entries, omitted));
  return { path: join(folder, name), bytes };
}

function* textsOf(entries: readonly object[], omitted: number): Generator<string> {
  for (let from = 0; from < entries.length; from += entriesPerWrite) {
    const lines = entries.slice(from, from + entriesPerWrite).map((entry) => `${toJson(entry)}\n`);
    yield lines.join('');
  }
  if (omitted > 0) yield `${JSON.stringify({ omitted })}\n`;
}

/** Escapes control characters: they could control a terminal. `raw` has one character per byte of its line. */
function toJson(entry: object): string {
  return JSON.stringify(entry).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

export type RejectReason = LineProblem | ListedReason;

export interface RejectLimits {
  /** Most lines that are listed. Further lines are only counted. */
  maxRejectLines: number;
  /** Most bytes of a listed line that are kept. */
  maxRejectBytes: number;
}

interface RejectedLine {
  line: number;
  reason: RejectReason;
  raw: string;
}

/**
 * Lists lines that are not rows, lines that became rows by a repair, and repeated lines of a RUC (its last line
 * counts). Only operators may read the file. It holds rows of natural persons, so it never goes to a log.
 */
export class RejectList {
  readonly counts: Partial<Record<RejectReason, number>> = {};
  readonly #limits: RejectLimits;
  #total = 0;
  #listed: RejectedLine[] = [];

  constructor(limits: RejectLimits) {
    this.#limits = limits;
  }

  add(reason: RejectReason, line: number, bytes: Uint8Array, start: number, end: number): void {
    this.counts[reason] = (this.counts[reason] ?? 0) + 1;
    this.#total += 1;
    if (this.#listed.length >= this.#limits.maxRejectLines) return;
    const cut = Math.min(end, start + this.#limits.maxRejectBytes);
    this.#listed.push({ line, reason, raw: printable(bytes.subarray(start, cut)) });
  }

  /** Number of lines that are not rows. */
  get rejected(): number {
    return this.#total - this.duplicates - this.repaired;
  }

  /** Number of listed lines that still count as rows (`keptReasons`). */
  get repaired(): number {
    return [...keptReasons].reduce((sum, reason) => sum + (this.counts[reason as ListedReason] ?? 0), 0);
  }

  get duplicates(): number {
    return this.counts.duplicate ?? 0;
  }

  /** Writes the listed lines in line order. Returns null when there is nothing to list. */
  write(folder: string, attempt: string, name: string): Listing | null {
    const listed = this.#listed.sort((one, other) => one.line - other.line);
    return writeListing(folder, attempt, name, listed, this.#total - listed.length);
  }
}

function printable(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** A RUC that the corrected edition changed and that the correction leaves as it is. */
export interface Conflict {
  /** Number of the edition that the correction undoes. */
  edition: number;
  ruc: string;
  /** What happened after that edition: another change, the end of the RUC, or the return of an ended RUC. */
  reason: 'changed_again' | 'gone' | 'came_back';
}

/**
 * Lists the conflicts of a correction. Only operators may read the file. A RUC can name a natural person, so the file
 * never goes to a log.
 */
export class ConflictList {
  readonly #edition: number;
  readonly #maxListed: number;
  readonly #listed: Conflict[] = [];
  count = 0;

  /** `edition` is the edition to undo. At most `maxListed` conflicts are written, but all are counted. */
  constructor(edition: number, maxListed: number) {
    this.#edition = edition;
    this.#maxListed = maxListed;
  }

  add(ruc: string, reason: Conflict['reason']): void {
    this.count += 1;
    if (this.#listed.length < this.#maxListed) this.#listed.push({ edition: this.#edition, ruc, reason });
  }

  write(folder: string, attempt: string, name: string): Listing | null {
    return writeListing(folder, attempt, name, this.#listed, this.count - this.#listed.length);
  }
}
