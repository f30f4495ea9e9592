import { type Listing, writeListing } from './listings.ts';
import type { Conflict } from './types.ts';

/** RUCs that a correction leaves as they are. For an operator: it names natural persons by their RUC, and no log gets it. */
export class ConflictList {
  readonly #edition: number;
  readonly #maxListed: number;
  readonly #listed: Conflict[] = [];
  count = 0;

  /** `edition`: the one to undo. `maxListed`: conflicts written; all are counted. */
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
