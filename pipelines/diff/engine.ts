import type { RegisterName } from '../../schemas/registers.ts';
import { registerModules } from '../registers/modules.ts';
import type { DifferenceEngine } from './types.ts';

/** What makes the differences of a register. The product calls it through child.ts, in a process of its own. */
export function engineOf(register: RegisterName): DifferenceEngine {
  return registerModules[register].format.size === 'large' ? large : small;
}

// A process does one job of one register: loading the other engine too would take as long as a small comparison.
const large = loading(async () => (await import('./large-engine.ts')).largeEngine);
const small = loading(async () => (await import('./small/engine.ts')).smallEngine);

function loading(load: () => Promise<DifferenceEngine>): DifferenceEngine {
  return {
    compare: async (...job) => await (await load()).compare(...job),
    correct: async (...job) => await (await load()).correct(...job),
    rebuild: async (...job) => await (await load()).rebuild(...job),
  };
}
