import type { Caller } from '../accounts/callers.ts';
import type { Month } from './minute-limits.ts';

/** The account that pays, and its plan's requests per minute, which are the size of its blocks. */
export type Payer = Pick<Caller, 'accountId' | 'requestsPerMinute'>;

/** Where units come from: the month's quota first, then the prepaid balance. */
export type Purse = 'mes' | 'prepago';

/** Units reserved before a look-up. `release` returns those that were not charged, and may be called twice. */
export interface Reservation {
  /** Counts in memory and is reported within a second. @throws RangeError for more units than were reserved */
  charge(units: number): void;
  release(): void;
}

/** What is left of the month, as far as this process knows. It may lack the last second of other processes' use. */
export interface Standing {
  month: Month;
  limit: number;
  remaining: number;
}

export interface Meter {
  /**
   * Reserves all the units or none.
   * @throws ApiProblem cuota_agotada (429, `disponible`), servicio_no_disponible (PostgreSQL is down and no block is left)
   */
  reserve(payer: Payer, units: number): Promise<Reservation>;
  /** Returns null when this process does not know the account yet and PostgreSQL does not answer. */
  standing(payer: Payer): Promise<Standing | null>;
}
