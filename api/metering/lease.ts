import { randomUUID } from 'node:crypto';
import type { Purse } from './types.ts';

/** A block of units of one account, month and purse, as the process that holds it counts it. */
export class Lease {
  readonly id = randomUUID();
  readonly purse: Purse;
  readonly month: string;
  granted = 0;
  /** `granted` as PostgreSQL is known to hold it; null: there is no row. Higher than `granted` while units are on their way back. */
  writtenGranted: number | null = null;
  /** Charged in memory, and how much of that PostgreSQL has confirmed. */
  spent = 0;
  reportedSpent = 0;
  /** Charged inside transactions that are committed. */
  settled = 0;
  /** Reserved by requests under way. */
  held = 0;
  /** Of the monotonic clock; after that the units may be someone else's. */
  usableUntilMs = 0;
  renewedAtMs = 0;

  constructor(purse: Purse, month: string) {
    this.purse = purse;
    this.month = month;
  }

  get free(): number {
    return Math.max(0, this.granted - this.spent - this.settled - this.held);
  }

  /** Units that cannot be given back: spent, or reserved by requests under way. */
  get bound(): number {
    return this.spent + this.settled + this.held;
  }

  get isWritten(): boolean {
    return this.writtenGranted !== null;
  }

  /** Lowers `granted` to what cannot be given back. Says whether PostgreSQL must learn of it. */
  shrink(): boolean {
    this.granted = Math.min(this.granted, this.bound);
    return this.writtenGranted !== null && this.granted < this.writtenGranted;
  }

  get hasUnreported(): boolean {
    return this.spent > this.reportedSpent;
  }
}

/** Some units of one lease within a reservation. */
export interface Part {
  lease: Lease;
  units: number;
}

/** Takes all the units from these leases in their order, or none. */
export function takeUnits(leases: readonly Lease[], units: number): Part[] | null {
  let missing = units;
  const parts: Part[] = [];
  for (const lease of leases) {
    const taken = Math.min(lease.free, missing);
    if (taken > 0) parts.push({ lease, units: taken });
    missing -= taken;
  }
  if (missing > 0) return null;
  for (const part of parts) part.lease.held += part.units;
  return parts;
}
