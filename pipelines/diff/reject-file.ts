import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { ListedReason } from '../registers/module.ts';
import type { LineProblem } from '../registers/padron-reducido/format.ts';
import { syncFolder } from './work-files.ts';

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
 * Lines that are no rows, and repeats of a RUC (the last one counts; the repeat is listed). The file is for an operator:
 * it holds rows of natural persons and never goes to a log.
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
    return this.#total - this.duplicates;
  }

  get duplicates(): number {
    return this.counts.duplicate ?? 0;
  }

  /** One JSON object per line, in line order; null when there is nothing to list. */
  write(folder: string, attempt: string, name: string): { path: string; bytes: number } | null {
    if (this.#total === 0) return null;
    const listed = this.#listed.sort((one, other) => one.line - other.line);
    const omitted = this.#total - listed.length;
    const file = openSync(join(folder, attempt), 'w');
    let bytes = 0;
    try {
      for (let from = 0; from < listed.length; from += 1000) {
        const lines = listed.slice(from, from + 1000).map((rejected) => `${toJson(rejected)}\n`);
        bytes += writeSync(file, lines.join(''));
      }
      if (omitted > 0) bytes += writeSync(file, `${JSON.stringify({ omitted })}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(join(folder, attempt), join(folder, name));
    syncFolder(folder);
    return { path: join(folder, name), bytes };
  }
}

function printable(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** Each byte is the character of that number; those that could steer a terminal are escaped, so nothing is lost. */
function toJson(rejected: RejectedLine): string {
  return JSON.stringify(rejected).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
