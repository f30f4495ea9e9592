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
