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
 * Writes what an operator may want to read of an edition, one JSON object per line, and how many more there were. The file
 * has its name only when it is whole. Null when there is nothing to list.
 */
export function writeListing(
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

/** Texts hold bytes as the characters of that number; those that could steer a terminal are escaped, so nothing is lost. */
function toJson(entry: object): string {
  return JSON.stringify(entry).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

export type RejectReason = LineProblem | ListedReason;

export interface RejectLimits {
  /** Lines listed; all are counted. */
  maxRejectLines: number;
  /** Bytes of each line that are kept. */
  maxRejectBytes: number;
}

interface RejectedLine {
  line: number;
  reason: RejectReason;
  raw: string;
}

/**
 * Lines that are no rows, lines that are rows after a repair, and repeats of a RUC (the last one counts; the repeat is
 * listed). The file is for an operator: it holds rows of natural persons and never goes to a log.
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

  /** Lines that were no rows. */
  get rejected(): number {
    return this.#total - this.duplicates - this.repaired;
  }

  /** Lines listed that are rows all the same. */
  get repaired(): number {
    return [...keptReasons].reduce((sum, reason) => sum + (this.counts[reason as ListedReason] ?? 0), 0);
  }

  get duplicates(): number {
    return this.counts.duplicate ?? 0;
  }

  /** One JSON object per line, in line order; null when there is nothing to list. */
  write(folder: string, attempt: string, name: string): Listing | null {
    const listed = this.#listed.sort((one, other) => one.line - other.line);
    return writeListing(folder, attempt, name, listed, this.#total - listed.length);
  }
}

function printable(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
