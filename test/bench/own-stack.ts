import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createAccount } from '../../api/accounts/accounts.ts';
import { createToken } from '../../api/accounts/tokens.ts';
import type { EngineName } from '../../deploy/local/engines/context.ts';
import { type Stack, startStack } from '../../deploy/local/stack.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { liftLimits } from '../support/api/process.ts';

/** Runs a bench's work on engines that nobody else uses, in a folder that it finds empty and that is removed after it. */
export async function onOwnStack(
  name: string,
  engines: readonly EngineName[],
  work: (stack: Stack, folder: string) => Promise<void>,
): Promise<void> {
  const folder = resolve('.local/bench', name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const stack = await startStack({ directory: join(folder, 'stack'), engines, addresses: {} });
  try {
    await work(stack, folder);
  } finally {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The token of an account that no limit stops; its use is counted all the same. */
export async function unlimitedToken(pool: Pool): Promise<string> {
  await liftLimits(pool);
  const account = await createAccount(pool, { name: 'bench', plan: 'empresa', email: null, contract: null });
  const made = await createToken(pool, account);
  return made!.token;
}
