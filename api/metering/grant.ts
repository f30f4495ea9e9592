import { randomUUID } from 'node:crypto';
import type { Purse } from './types.ts';

/** An account's units, read while the account is locked. */
export interface Funds {
  /** The plan's units of the month. */
  limit: number;
  /** Units of the month that all processes spent, and the part that the asking process's own leases spent. */
  used: number;
  usedHere: number;
  /** Prepaid units not spent. */
  prepaid: number;
  /** Unspent units in leases by purse: those of all processes, and those of the other processes. */
  leased: Record<Purse, number>;
  leasedElsewhere: Record<Purse, number>;
  /** Time until the last lease of another process lapses if it is not renewed. 0 when there is no such lease. */
  elsewhereLapsesInMs: number;
}

/** A grant is at most this part of what is free, so that one process does not hold all of the last units. */
const shareOfFree = 8;
const maxBlockUnits = 10_000;

export type Grant = Record<Purse, number>;

/**
 * Decides how many units to lease: a block while there are plenty, less towards the end, and at least the missing ones. The
 * month's units go first. Prepaid units are leased only when no other process holds units of the month, or when the others
 * were asked for them and have not returned them (`isRecallOver`).
 */
export function decideGrant(funds: Funds, missing: number, block: number, isRecallOver: boolean): Grant {
  const free = freeUnits(funds);
  const ofMonth = portion(free.mes, missing, block);
  const rest = missing - ofMonth;
  if (rest <= 0) return { mes: ofMonth, prepago: 0 };
  if (funds.leasedElsewhere.mes > 0 && !isRecallOver) return { mes: ofMonth, prepago: 0 };
  return { mes: ofMonth, prepago: portion(free.prepago, rest, block) };
}

/** Units neither spent nor leased. A lowered plan or a late report can make the difference negative, which counts as 0. */
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

/** A block of units of one account, month and purse, as its owner process counts it. */
export class Lease {
  readonly id = randomUUID();
  readonly purse: Purse;
  readonly month: string;
  granted = 0;
  /** `granted` in PostgreSQL's row, or null without a row. It is higher than `granted` while units are being returned. */
  writtenGranted: number | null = null;
  /** Units charged in memory, and the part of them that PostgreSQL has confirmed. */
  spent = 0;
  reportedSpent = 0;
  /** Units charged inside committed transactions. */
  settled = 0;
  /** Units reserved by requests in flight. */
  held = 0;
  /** Time of the monotonic clock after which another process may have the units. */
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

  /** Lowers `granted` to the bound units. Returns whether PostgreSQL's row must be lowered too. */
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

/** Reserves all the units from these leases in their order, or none of them. */
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
