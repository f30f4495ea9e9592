const everyMs = 1_000;
/** A rate over less than this says nothing. */
const ratedMs = 500;

/** Turns progress into lines for standard error: at most one a second, with rate and time left. */
export class ProgressLine {
  readonly #note: (text: string) => void;
  #what = '';
  #last = '';
  #startedAt = 0;
  #saidAt = Number.NEGATIVE_INFINITY;

  constructor(note: (text: string) => void) {
    this.#note = note;
  }

  /** `rows` of `totalRows` (0: not known) of `what`; a new `what` begins to count anew. */
  tell(what: string, rows: number, totalRows: number): void {
    const now = performance.now();
    if (what !== this.#what) {
      this.#what = what;
      this.#startedAt = now;
      this.#saidAt = Number.NEGATIVE_INFINITY;
    }
    const isDone = totalRows > 0 && rows >= totalRows;
    if (now - this.#saidAt < everyMs && !isDone) return;
    this.#saidAt = now;
    const ms = now - this.#startedAt;
    const text = progressText(what, rows, totalRows, ms < ratedMs ? 0 : (rows / ms) * 1_000);
    if (text !== this.#last) this.#note(text);
    this.#last = text;
  }
}

/** What is done of what, at which rate, and the time left; what is not known is left out. */
export function progressText(what: string, rows: number, totalRows: number, rowsPerSecond: number): string {
  return `${what}: ${[amount(rows, totalRows), ...pace(rowsPerSecond, totalRows - rows)].join(', ')}`;
}

function amount(rows: number, totalRows: number): string {
  const share = Math.floor((rows / totalRows) * 100);
  return totalRows > 0 ? `${number(rows)} of ${number(totalRows)} rows (${share} %)` : `${number(rows)} rows`;
}

function pace(rate: number, left: number): string[] {
  if (rate < 1) return [];
  const seconds = left > 0 ? [`${number(Math.ceil(left / rate))} s left`] : [];
  return [`${number(Math.round(rate))} rows/s`, ...seconds];
}

function number(value: number): string {
  return value.toLocaleString('en');
}
