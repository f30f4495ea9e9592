import type { Caller } from '../accounts/callers.ts';
import type { Month } from './minute-limits.ts';

/** The account that pays. The meter leases blocks of `requestsPerMinute` units for it. */
export type Payer = Pick<Caller, 'accountId' | 'requestsPerMinute'>;

/** The source of units: the month's quota, which is used first, or the prepaid balance. */
export type Purse = 'mes' | 'prepago';

/** Units reserved before a look-up. */
export interface Reservation {
  /** Charges in memory. PostgreSQL gets the charge within a second. @throws RangeError for more units than reserved */
  charge(units: number): void;
  /** Returns the units that were not charged. A second call does nothing. */
  release(): void;
}

/** An account's units of the month, as far as this process knows. The last second of other processes may be missing. */
export interface Standing {
  month: Month;
  limit: number;
  remaining: number;
}

export interface Meter {
  /**
   * Reserves all the units or throws.
   * @throws ApiProblem cuota_agotada (429 with `disponible`)
   * @throws ApiProblem servicio_no_disponible when PostgreSQL is down and this process has too few units left
   */
  reserve(payer: Payer, units: number): Promise<Reservation>;
  /** Returns null when this process does not know the account's units and PostgreSQL does not answer. */
  standing(payer: Payer): Promise<Standing | null>;
}
