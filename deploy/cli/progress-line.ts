const everyMs = 1_000;

/** Turns progress into lines for standard error: at most one a second, with rate and time left. */
export class ProgressLine {
  readonly #note: (text: string) => void;
  #what = '';
  #startedAt = 0;
  #saidAt = 0;

  constructor(note: (text: string) => void) {
    this.#note = note;
  }

  /** `rows` of `totalRows` (0: not known) of `what`; a new `what` begins to count anew. */
  tell(what: string, rows: number, totalRows: number): void {
    const now = performance.now();
    if (what !== this.#what) {
      this.#what = what;
      this.#startedAt = now;
      this.#saidAt = 0;
    }
    const isDone = totalRows > 0 && rows >= totalRows;
    if (now - this.#saidAt < everyMs && !isDone) return;
    this.#saidAt = now;
    const rate = rows / Math.max((now - this.#startedAt) / 1_000, 0.001);
    this.#note(`${what}: ${[amount(rows, totalRows), ...pace(rate, totalRows - rows)].join(', ')}`);
  }
}

function amount(rows: number, totalRows: number): string {
  const share = totalRows > 0 ? ` of ${number(totalRows)} (${Math.floor((rows / totalRows) * 100)} %)` : '';
  return `${number(rows)}${share} rows`;
}

function pace(rate: number, left: number): string[] {
  if (rate < 1) return [];
  const seconds = left > 0 ? [`${number(Math.ceil(left / rate))} s left`] : [];
  return [`${number(Math.round(rate))} rows/s`, ...seconds];
}

function number(value: number): string {
  return value.toLocaleString('en');
}
