import type { DifferenceEngine } from '../types.ts';
import { compareSmall } from './compare.ts';
import { correctSmall } from './correct.ts';
import { rebuildSmall } from './rebuild.ts';

/** The engine of registers of at most 200,000 lines: both states are held in memory and compared as they are. */
export const smallEngine: DifferenceEngine = { compare: compareSmall, correct: correctSmall, rebuild: rebuildSmall };
