import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { readJsonFile } from './files.ts';
import { descendantsOf, isAlive, type ProcessIdentity, signalProcess } from './identity.ts';
import type { Log } from './programs.ts';
import { endAll } from './supervise.ts';

const identitySchema = z.object({ pid: z.number().int(), startedAt: z.string() });
const orderlyEndMs = 5000;

/**
 * Ends the processes that a crashed stack of this folder left behind. They are known by their pid files and by their
 * start times, so a number that the system has given to somebody else since is left alone. Call it with the stack's
 * lock held: then no pid file belongs to a living stack.
 */
export async function endLeftovers(runDirectory: string, log: Log): Promise<void> {
  const files = readdirSync(runDirectory).filter((name) => name.endsWith('.pid'));
  await Promise.all(files.map((file) => endLeftover(path.join(runDirectory, file), log)));
}

async function endLeftover(file: string, log: Log): Promise<void> {
  const left = readJsonFile(file, identitySchema);
  if (left && isAlive(left)) {
    log(`${path.basename(file, '.pid')}: process ${left.pid} is left from a stack that crashed, ending it`);
    const all = [left, ...descendantsOf(left.pid)];
    signalProcess(left, 'SIGTERM');
    await endsWithin(left, orderlyEndMs);
    await endAll(all, 'SIGKILL');
  }
  rmSync(file, { force: true });
}

async function endsWithin(left: ProcessIdentity, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (isAlive(left) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
}
