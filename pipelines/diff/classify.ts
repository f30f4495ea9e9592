import { keyAt, noKey, pipe, problemOfLine } from '../registers/padron-reducido/format.ts';
import { type HashSeed, makeBatch, scanRows } from '../registers/padron-reducido/scan.ts';
import type { EditionIndex } from './edition-index.ts';
import type { LineRegion } from './lines.ts';
import type { RejectList } from './reject-file.ts';
import type { Spill } from './spill.ts';

/** Rows looked at together: enough to overlap cache misses, few enough to stay in the second-level cache. */
const rowsPerBatch = 1024;

/**
 * First pass over a publication: every row is either the same as in the base, or goes to the spill to be looked at.
 * Which RUCs were seen is one bit per rank of the base.
 */
export class Classifier {
  /** Data lines so far. */
  lines = 0;
  emptyNames = 0;
  readonly seen: Int32Array;
  /** Known RUCs that had a line which is no row. */
  readonly seenBad: Int32Array;
  readonly #base: EditionIndex | null;
  readonly #seed: HashSeed;
  readonly #spill: Spill;
  readonly #rejects: RejectList;
  readonly #batch = makeBatch(rowsPerBatch);
  readonly #ranks = new Int32Array(rowsPerBatch).fill(-1);
  readonly #differs = new Int32Array(rowsPerBatch);

  constructor(base: EditionIndex | null, seed: HashSeed, spill: Spill, rejects: RejectList) {
    this.#base = base;
    this.#seed = seed;
    this.#spill = spill;
    this.#rejects = rejects;
    const words = ((base?.header.rows ?? 0) >>> 5) + 1;
    this.seen = new Int32Array(words);
    this.seenBad = new Int32Array(words);
  }

  /** Reads a region's lines; the first line read ever is line 2 of the publication. */
  add(region: LineRegion): void {
    let position = region.from;
    while (position < region.limit) {
      position = scanRows(region.bytes, region.view, position, region.limit, this.#batch, this.#seed);
      this.#base?.lookUp(this.#batch, this.#ranks);
      this.#base?.compareHashes(this.#batch, this.#ranks, this.#differs);
      this.#sort(region);
      this.lines += this.#batch.count;
    }
  }

  #sort(region: LineRegion): void {
    const { bytes, view } = region;
    const { keys, starts, ends, count } = this.#batch;
    const ranks = this.#ranks;
    const differs = this.#differs;
    const seen = this.seen;
    for (let row = 0; row < count; row += 1) {
      const key = keys[row]!;
      const start = starts[row]!;
      if (key === noKey) {
        this.#reject(bytes, start, ends[row]!, this.lines + row + 2);
        continue;
      }
      if (bytes[start + 12] === pipe) this.emptyNames += 1;
      const rank = ranks[row]!;
      if (rank >= 0) {
        const bit = 1 << (rank & 31);
        const marked = seen[rank >>> 5]!;
        seen[rank >>> 5] = marked | bit;
        if ((marked & bit) === 0) {
          if (differs[row] === 0) continue;
        } else {
          // The last line of a RUC counts. So a repeat is looked at even when it equals the base: an earlier one may
          // have gone to the spill, and the merge takes the last it finds there.
          this.#rejects.add('duplicate', this.lines + row + 2, bytes, start, ends[row]!);
        }
      }
      this.#spill.append(key, this.lines + row + 2, view, start, ends[row]!);
    }
  }

  #reject(bytes: Uint8Array, start: number, end: number, line: number): void {
    const reason = problemOfLine(bytes, start, end);
    if (reason === null) throw new Error(`line ${line} is a row for the slow reader and none for the fast one`);
    this.#rejects.add(reason, line, bytes, start, end);
    // Ten digits name a RUC even when the eleventh is wrong: better to keep a row than to announce a false end.
    const key = keyAt(bytes, start, end);
    const rank = key === noKey ? -1 : (this.#base?.rankOf(key) ?? -1);
    if (rank >= 0) this.seenBad[rank >>> 5]! |= 1 << (rank & 31);
  }
}
