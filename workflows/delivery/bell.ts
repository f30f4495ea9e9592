/** Whatever a round may wait for rings it: an attempt that ended, more work, the order to stop. Never misses a ring. */
export class Bell {
  #rang = false;
  #wake: (() => void) | null = null;

  ring(): void {
    this.#rang = true;
    this.#wake?.();
  }

  /** Forgets what rang so far: called before looking at what a ring tells of, so that a later one is not lost. */
  silence(): void {
    this.#rang = false;
  }

  /** Until it rings, at once if it did since it was silenced; `ms` at most. False: the time is up and it did not ring. */
  async wait(ms: number): Promise<boolean> {
    if (this.#rang) return true;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
    return this.#rang;
  }
}
