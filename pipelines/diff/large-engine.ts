import { compareEdition } from './compare.ts';
import { correctEdition } from './correct.ts';
import { rebuildIndex } from './rebuild.ts';
import type { DifferenceEngine } from './types.ts';

/** Registers of millions of rows. */
export const largeEngine: DifferenceEngine = {
  compare: compareEdition,
  correct: correctEdition,
  rebuild: rebuildIndex,
};
