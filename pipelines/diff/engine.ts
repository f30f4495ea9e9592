import type { RegisterName } from '../../schemas/registers.ts';
import { registerModules } from '../registers/modules.ts';
import { largeEngine } from './large-engine.ts';
import { smallEngine } from './small/engine.ts';
import type { DifferenceEngine } from './types.ts';

/** What makes the differences of a register. Call it through child.ts, but for a register of a few thousand rows in a test. */
export function engineOf(register: RegisterName): DifferenceEngine {
  return registerModules[register].format.size === 'large' ? largeEngine : smallEngine;
}
