import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createAccount } from '../../api/accounts/accounts.ts';
import { createToken } from '../../api/accounts/tokens.ts';
import type { EngineName } from '../../deploy/local/engines/context.ts';
import { type Stack, startStack } from '../../deploy/local/stack.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { liftLimits } from '../support/api/process.ts';

/** Runs a benchmark on its own engines, in an empty folder that is removed afterwards. */
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

/** Creates a token of an account that never reaches its limits, although its use is counted. */
export async function unlimitedToken(pool: Pool): Promise<string> {
  await liftLimits(pool);
  const account = await createAccount(pool, { name: 'bench', plan: 'empresa', email: null, contract: null });
  const made = await createToken(pool, account);
  return made!.token;
}
