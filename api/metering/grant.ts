import { randomUUID } from 'node:crypto';
import type { Purse } from './types.ts';

/** An account's units, read while the account is locked. */
export interface Funds {
  /** Units that the plan includes each month. */
  limit: number;
  /** Units of the month that all processes have spent. */
  used: number;
  /** The part of `used` that this process's leases have spent. */
  usedHere: number;
  /** Prepaid units that are not spent. */
  prepaid: number;
  /** Unspent units in the leases of all processes. */
  leased: Record<Purse, number>;
  /** The part of `leased` in other processes' leases. */
  leasedElsewhere: Record<Purse, number>;
  /** Time until the last lease of another process lapses if nobody renews it. 0 when no other process has a lease. */
  elsewhereLapsesInMs: number;
}

/** A block is at most an eighth of the free units, so that one process does not take all of the last units. */
const shareOfFree = 8;
const maxBlockUnits = 10_000;

export type Grant = Record<Purse, number>;

/**
 * Decides how many units to lease: the missing units, or a block if that is more. A block is smaller when few units are
 * free. The month's units are leased first. Prepaid units are leased only when no other process has unspent units of
 * the month, or when the other processes were asked for these units and had time to return them.
 * @param missing units that a request needs now
 * @param block units to lease while many are free
 * @param isRecallOver true when the other processes had time to return their units
 */
export function decideGrant(funds: Funds, missing: number, block: number, isRecallOver: boolean): Grant {
  const free = freeUnits(funds);
  const ofMonth = portion(free.mes, missing, block);
  const rest = missing - ofMonth;
  if (rest <= 0) return { mes: ofMonth, prepago: 0 };
  if (funds.leasedElsewhere.mes > 0 && !isRecallOver) return { mes: ofMonth, prepago: 0 };
  return { mes: ofMonth, prepago: portion(free.prepago, rest, block) };
}

/** Returns the units that are not spent and not leased. The difference is negative after a lowered plan: then 0. */
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

/** A block of units of one account, month and purse. The process that owns the lease counts it here. */
export class Lease {
  readonly id = randomUUID();
  readonly purse: Purse;
  readonly month: string;
  granted = 0;
  /** `granted` of the row in PostgreSQL, or null without a row. Above `granted` while units are being returned. */
  writtenGranted: number | null = null;
  /** Units charged in memory. */
  spent = 0;
  /** The part of `spent` that PostgreSQL has confirmed. */
  reportedSpent = 0;
  /** Units charged in committed transactions. */
  settled = 0;
  /** Units reserved by requests in flight. */
  held = 0;
  /** Time of the monotonic clock until which this process may use the units. Later another process may have them. */
  usableUntilMs = 0;
  renewedAtMs = 0;

  constructor(purse: Purse, month: string) {
    this.purse = purse;
    this.month = month;
  }

  get free(): number {
    return Math.max(0, this.granted - this.spent - this.settled - this.held);
  }

  /** Units that cannot be returned, because they are spent or reserved by requests in flight. */
  get bound(): number {
    return this.spent + this.settled + this.held;
  }

  get isWritten(): boolean {
    return this.writtenGranted !== null;
  }

  /** Lowers `granted` to the bound units. Returns true when the row in PostgreSQL must be lowered too. */
  shrink(): boolean {
    this.granted = Math.min(this.granted, this.bound);
    return this.writtenGranted !== null && this.granted < this.writtenGranted;
  }

  get hasUnreported(): boolean {
    return this.spent > this.reportedSpent;
  }
}

/** The units that a reservation takes from one lease. */
export interface Part {
  lease: Lease;
  units: number;
}

/** Reserves the units from these leases in their order. If they have too few, it reserves none and returns null. */
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
