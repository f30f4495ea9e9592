import type { RegisterName } from '../../schemas/registers.ts';
import type { LargeFormat, RegisterModule } from '../registers/module.ts';
import { registerModules } from '../registers/modules.ts';

export type LargeModule = RegisterModule & { format: LargeFormat };

/** A register that this engine compares; asking for a small one is a bug. */
export function largeModule(register: RegisterName): LargeModule {
  const { source, format } = registerModules[register];
  if (format.size !== 'large') throw new Error(`${register} is a small register: another engine compares it`);
  return { register, source, format };
}
