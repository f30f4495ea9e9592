import type { PoolClient } from '../../pipelines/runtime/postgres.ts';
import type { Part } from './lease.ts';
import type { Reservation } from './types.ts';

/** Units taken from leases; the month's part is charged first. */
export class LeasedReservation implements Reservation {
  #parts: Part[];

  constructor(parts: Part[]) {
    this.#parts = parts;
  }

  charge(units: number): void {
    for (const { lease, units: taken } of this.#cut(units)) {
      lease.held -= taken;
      lease.spent += taken;
    }
  }

  release(): void {
    for (const { lease, units } of this.#parts) lease.held -= units;
    this.#parts = [];
  }

  /**
   * Writes the charge into the caller's transaction. The lease's row stays locked until that ends, so let little follow.
   * A row that is gone lapsed ten minutes ago under a stalled process: nothing is charged, in the customer's favour.
   */
  async chargeInTransaction(client: PoolClient, units: number): Promise<() => void> {
    const parts = this.#look(units).sort((a, b) => (a.lease.id < b.lease.id ? -1 : 1));
    for (const { lease, units: charged } of parts)
      await client.query({ name: 'quota-settle', text: settleText, values: [lease.id, charged] });
    return () => {
      for (const { lease, units: charged } of this.#cut(units)) {
        lease.held -= charged;
        lease.settled += charged;
      }
    };
  }

  #look(units: number): Part[] {
    let missing = units;
    const parts: Part[] = [];
    for (const { lease, units: held } of this.#parts) {
      const taken = Math.min(held, missing);
      if (taken > 0) parts.push({ lease, units: taken });
      missing -= taken;
    }
    if (missing > 0) throw new RangeError(`a charge of ${units} is more than was reserved`);
    return parts;
  }

  #cut(units: number): Part[] {
    const cut = this.#look(units);
    for (const { lease, units: taken } of cut) this.#parts.find((part) => part.lease === lease)!.units -= taken;
    return cut;
  }
}

const settleText = 'UPDATE quota_lease SET settled = settled + $2 WHERE id = $1';

/**
 * Charges inside a transaction of the caller's, for an answer that is stored with its charge: both are there or neither.
 * Call what it returns once the transaction is committed; `release` the reservation in any case. When the outcome of the
 * commit is unknown, do not call it: this process then counts too little by these units, in the customer's favour, while
 * the account's sum is right.
 */
export function chargeInTransaction(client: PoolClient, reservation: Reservation, units: number): Promise<() => void> {
  if (!(reservation instanceof LeasedReservation)) throw new TypeError('the reservation is not of this meter');
  return reservation.chargeInTransaction(client, units);
}
