import { randomUUID } from 'node:crypto';
import type { Purse } from './types.ts';

/** An account's units at one moment, read under the account's lock. */
export interface Funds {
  /** The plan's units of the month. */
  limit: number;
  /** Units of the month spent in all, and how many of them by the asking process's own leases. */
  used: number;
  usedHere: number;
  /** Prepaid units not spent. */
  prepaid: number;
  /** Unspent units in leases, by purse: of all processes and of the others. */
  leased: Record<Purse, number>;
  leasedElsewhere: Record<Purse, number>;
  /** When the last of the others' leases lapses unless renewed; 0: none. */
  elsewhereLapsesInMs: number;
}

/** Hands out at most this share of what is free, so that the last units are not all in one process's hands. */
const shareOfFree = 8;
const maxBlockUnits = 10_000;

export type Grant = Record<Purse, number>;

/**
 * How many units to lease: the block where there is plenty, less towards the end, at least what is missing. The month's
 * quota first; the prepaid balance is opened only when no other process holds units of the month, or when those that do
 * were asked and have not given them back (`isRecallOver`).
 */
export function decideGrant(funds: Funds, missing: number, block: number, isRecallOver: boolean): Grant {
  const free = freeUnits(funds);
  const ofMonth = portion(free.mes, missing, block);
  const rest = missing - ofMonth;
  if (rest <= 0) return { mes: ofMonth, prepago: 0 };
  if (funds.leasedElsewhere.mes > 0 && !isRecallOver) return { mes: ofMonth, prepago: 0 };
  return { mes: ofMonth, prepago: portion(free.prepago, rest, block) };
}

/** Neither spent nor leased. A plan that was lowered, or a late report, may leave less than nothing: none. */
export function freeUnits(funds: Funds): Grant {
  return {
    mes: Math.max(0, funds.limit - funds.used - funds.leased.mes),
    prepago: Math.max(0, funds.prepaid - funds.leased.prepago),
  };
}

function portion(free: number, missing: number, block: number): number {
  const fair = Math.min(block, maxBlockUnits, Math.ceil(free / shareOfFree));
  return Math.min(free, Math.max(missing, fair));
}

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
