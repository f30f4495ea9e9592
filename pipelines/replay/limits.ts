import type { VerifyLimits } from './types.ts';

export const verifyLimits: VerifyLimits = {
  maxRangeRows: 200_000,
  maxListed: 100,
  // One block of a quarter of a megabyte is held of each: eleven years of days.
  maxFiles: 4_000,
  maxOverlayRows: 1_000_000,
};

/** Rows of a register whose keys do not stand in the order of their numbers: they are held and sorted. */
export const maxSupplierRows = 2_000_000;
