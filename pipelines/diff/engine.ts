import type { RegisterName } from '../../schemas/registers.ts';
import { registerModules } from '../registers/modules.ts';
import type { DifferenceEngine } from './types.ts';

/** Returns the engine that compares a register. The product runs it in another process, through child.ts. */
export function engineOf(register: RegisterName): DifferenceEngine {
  return registerModules[register].format.size === 'large' ? largeEngine : smallEngine;
}

// Each engine is imported only when it is used, because the import of all of them takes as long as a small comparison.
const largeEngine: DifferenceEngine = {
  compare: async (...job) => await (await import('./large/compare.ts')).compareEdition(...job),
  correct: async (...job) => await (await import('./large/correct.ts')).correctEdition(...job),
  rebuild: async (...job) => await (await import('./large/rebuild.ts')).rebuildIndex(...job),
};

const small = async () => (await import('./small/rebuild.ts')).smallEngine;
const smallEngine: DifferenceEngine = {
  compare: async (...job) => await (await small()).compare(...job),
  correct: async (...job) => await (await small()).correct(...job),
  rebuild: async (...job) => await (await small()).rebuild(...job),
};
