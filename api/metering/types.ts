import type { Caller } from '../accounts/callers.ts';
import type { Month } from './minute-limits.ts';

/** Who pays: the account and its plan's requests per minute, which say how large its blocks are. */
export type Payer = Pick<Caller, 'accountId' | 'requestsPerMinute'>;

/** Monthly quota first, then the prepaid balance. */
export type Purse = 'mes' | 'prepago';

/** Units set aside before anything is looked up. What is not charged goes back with `release`, which may be called twice. */
export interface Reservation {
  /** Bookkeeping in memory, reported within a second. Never more than was reserved in all. */
  charge(units: number): void;
  release(): void;
}

/** What is left of the month, as this process knows it: other processes' use of the last second is not in it. */
export interface Standing {
  month: Month;
  limit: number;
  remaining: number;
}

export interface Meter {
  /**
   * All the units or none.
   * @throws ApiProblem cuota_agotada (429, `disponible`), servicio_no_disponible (PostgreSQL down and no block left)
   */
  reserve(payer: Payer, units: number): Promise<Reservation>;
  /** null: it is not known here yet and PostgreSQL does not answer. */
  standing(payer: Payer): Promise<Standing | null>;
}
