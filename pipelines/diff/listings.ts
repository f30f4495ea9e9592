import { join } from 'node:path';
import type { EditionFacts } from '../changes/change-file.ts';
import { keptReasons, type ListedReason } from '../registers/module.ts';
import type { LineProblem } from './large/scan.ts';
import { attemptName, editionFileName, writeWhole } from './work-files.ts';

export interface Listing {
  path: string;
  bytes: number;
}

const entriesPerWrite = 1000;
/** Most entries that a listing has. Further entries are only counted. */
const maxEntries = 100_000;
/** Most bytes of a rejected line that are kept. */
const maxRejectBytes = 2_000;

/**
 * Writes a file for an operator, one JSON object per entry and line. If entries were omitted, a last line has their
 * number. The file gets its name only when it is whole. Returns null if there is nothing to list.
 */
function writeListing(
  kind: 'rejects' | 'conflicts',
  folder: string,
  facts: EditionFacts,
  changeFileSha256: string,
  entries: readonly object[],
  omitted: number,
): Listing | null {
  if (entries.length + omitted === 0) return null;
  const name = editionFileName(facts, kind, changeFileSha256, 'ndjson');
  const bytes = writeWhole(folder, attemptName(facts.register, kind), name, textsOf(entries, omitted));
  return { path: join(folder, name), bytes };
}

function* textsOf(entries: readonly object[], omitted: number): Generator<string> {
  for (let from = 0; from < entries.length; from += entriesPerWrite) {
    const lines = entries.slice(from, from + entriesPerWrite).map((entry) => `${toJson(entry)}\n`);
    yield lines.join('');
  }
  if (omitted > 0) yield `${JSON.stringify({ omitted })}\n`;
}

/**
 * Makes JSON in which U+007F to U+009F are escaped too, because these characters could control a terminal. The field
 * `raw` of a rejected line can contain them, because it has one character per byte.
 */
function toJson(entry: object): string {
  return JSON.stringify(entry).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

export type RejectReason = LineProblem | ListedReason;

/**
 * Collects the reject file. It lists lines that are not rows, lines that a repair made rows, and repeated lines of a
 * RUC, of which only the last counts. The file holds rows of natural persons. So only operators may read it, and it
 * must never go to a log.
 */
export class RejectList {
  readonly counts: Partial<Record<RejectReason, number>> = {};
  readonly #maxListed: number;
  #total = 0;
  #listed: { line: number; reason: RejectReason; raw: string }[] = [];

  constructor(maxListed = maxEntries) {
    this.#maxListed = maxListed;
  }

  add(reason: RejectReason, line: number, bytes: Uint8Array, start: number, end: number): void {
    this.counts[reason] = (this.counts[reason] ?? 0) + 1;
    this.#total += 1;
    if (this.#listed.length >= this.#maxListed) return;
    const raw = Buffer.from(bytes.subarray(start, Math.min(end, start + maxRejectBytes))).toString('latin1');
    this.#listed.push({ line, reason, raw });
  }

  /** Number of lines that cannot be read as a row. Duplicates and repaired lines do not count. */
  get rejected(): number {
    return this.#total - this.duplicates - this.repaired;
  }

  /** Number of repaired lines (`keptReasons`). They still count as rows. */
  get repaired(): number {
    return [...keptReasons].reduce((sum, reason) => sum + (this.counts[reason as ListedReason] ?? 0), 0);
  }

  get duplicates(): number {
    return this.counts.duplicate ?? 0;
  }

  /** Writes the listed lines in line order. Returns null when there is nothing to list. */
  write(folder: string, facts: EditionFacts, changeFileSha256: string): Listing | null {
    const listed = this.#listed.sort((one, other) => one.line - other.line);
    return writeListing('rejects', folder, facts, changeFileSha256, listed, this.#total - listed.length);
  }
}

/** A RUC that the undone edition changed and that the correction leaves as it is, because it changed again later. */
export interface Conflict {
  /** Number of the edition that the correction undoes. */
  edition: number;
  ruc: string;
  /** What happened after that edition: another change, the end of the RUC, or the return of an ended RUC. */
  reason: 'changed_again' | 'gone' | 'came_back';
}

/**
 * Lists the conflicts of a correction. Only operators may read the file, and it must never go to a log: a RUC can name
 * a natural person.
 */
export class ConflictList {
  readonly #edition: number;
  readonly #listed: Conflict[] = [];
  count = 0;

  /** `edition` is the edition to undo. */
  constructor(edition: number) {
    this.#edition = edition;
  }

  add(ruc: string, reason: Conflict['reason']): void {
    this.count += 1;
    if (this.#listed.length < maxEntries) this.#listed.push({ edition: this.#edition, ruc, reason });
  }

  write(folder: string, facts: EditionFacts, changeFileSha256: string): Listing | null {
    const omitted = this.count - this.#listed.length;
    return writeListing('conflicts', folder, facts, changeFileSha256, this.#listed, omitted);
  }
}
