import type { VerifyProgress } from './types.ts';

const everyMs = 1_000;

/** Turns counts of rows into progress, once a second. */
export class Meter {
  readonly #report: (progress: VerifyProgress) => void;
  #phase: VerifyProgress['phase'] = 'files';
  #totalRows = 0;
  #startedAt = 0;
  #saidAt = 0;

  constructor(report: (progress: VerifyProgress) => void) {
    this.#report = report;
  }

  begin(phase: VerifyProgress['phase'], totalRows: number): void {
    this.#phase = phase;
    this.#totalRows = totalRows;
    this.#startedAt = performance.now();
    this.#saidAt = 0;
    this.at(0);
  }

  at(rows: number): void {
    const now = performance.now();
    if (now - this.#saidAt < everyMs && rows < this.#totalRows) return;
    this.#saidAt = now;
    const seconds = (now - this.#startedAt) / 1000;
    this.#report({
      phase: this.#phase,
      rows,
      totalRows: this.#totalRows,
      rowsPerSecond: seconds > 0 ? Math.round(rows / seconds) : 0,
    });
  }
}
