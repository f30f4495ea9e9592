/** Shortest time between two progress lines. */
const everyMs = 1_000;
/** A rate is shown only after this time, because a rate over a shorter time is not reliable. */
const ratedMs = 500;

/** Turns row counts into progress lines for standard error, at most one a second, with the rate and the time left. */
export class ProgressLine {
  readonly #note: (text: string) => void;
  #what = '';
  #last = '';
  #startedAt = 0;
  #notedAt = Number.NEGATIVE_INFINITY;

  constructor(note: (text: string) => void) {
    this.#note = note;
  }

  /**
   * Reports that the step `what` has done `rows` of `totalRows` rows. `totalRows` is 0 when the total is not known. A
   * new value of `what` starts a new measurement of the rate.
   */
  report(what: string, rows: number, totalRows: number): void {
    const now = performance.now();
    if (what !== this.#what) {
      this.#what = what;
      this.#startedAt = now;
      this.#notedAt = Number.NEGATIVE_INFINITY;
    }
    const isDone = totalRows > 0 && rows >= totalRows;
    if (now - this.#notedAt < everyMs && !isDone) return;
    this.#notedAt = now;
    const ms = now - this.#startedAt;
    const text = progressText(what, rows, totalRows, ms < ratedMs ? 0 : (rows / ms) * 1_000);
    if (text !== this.#last) this.#note(text);
    this.#last = text;
  }
}

/** Finds what is new among lines that are read again and again, such as the progress of steps that run side by side. */
export class ChangedLines {
  #before: readonly string[] = [];

  /** Returns the lines that the last call did not have. Calls without lines are ignored: there the reading failed. */
  of(lines: readonly string[]): string[] {
    const changed = lines.filter((line) => !this.#before.includes(line));
    if (lines.length > 0) this.#before = lines;
    return changed;
  }
}

/**
 * Makes a line such as "replay: 250,000 of 1,000,000 rows (25 %), 50,000 rows/s, 15 s left". A total of 0 and a rate
 * below 1 row/s are not shown.
 */
export function progressText(what: string, rows: number, totalRows: number, rowsPerSecond: number): string {
  const amount = totalRows > 0 ? `${figure(rows)} of ${figure(totalRows)} rows${share(rows, totalRows)}` : null;
  const parts = [amount ?? `${figure(rows)} rows`];
  if (rowsPerSecond >= 1) {
    parts.push(`${figure(Math.round(rowsPerSecond))} rows/s`);
    if (totalRows > rows) parts.push(`${figure(Math.ceil((totalRows - rows) / rowsPerSecond))} s left`);
  }
  return `${what}: ${parts.join(', ')}`;
}

export function share(done: number, total: number): string {
  return ` (${Math.floor((done / total) * 100)} %)`;
}

/** A number with its thousands separated. */
export function figure(value: number): string {
  return value.toLocaleString('en');
}
