import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { identify, isAlive, type ProcessIdentity } from './identity.ts';

const ownerSchema = z.object({ pid: z.number().int(), startedAt: z.string() });

export class LockHeldError extends Error {
  override name = 'LockHeldError';
  readonly owner: ProcessIdentity;
  constructor(file: string, owner: ProcessIdentity) {
    super(`${file} is held by process ${owner.pid}`);
    this.owner = owner;
  }
}

/**
 * Takes a lock file for this process and returns what gives it back. A lock whose owner is dead is taken over, so a
 * crash never has to be cleaned up by hand. Throws LockHeldError when its owner lives.
 */
export function takeLock(file: string): () => void {
  const mine = JSON.stringify(identify(process.pid));
  const prepared = `${file}.${randomUUID()}`;
  writeFileSync(prepared, mine);
  try {
    for (;;) {
      if (linkIfAbsent(prepared, file)) return releaseOnce(file);
      const content = readIfPresent(file);
      if (content === undefined) continue;
      const owner = parseOwner(content);
      if (owner && isAlive(owner)) throw new LockHeldError(file, owner);
      removeStale(file, content);
    }
  } finally {
    rmSync(prepared, { force: true });
  }
}

/** A second call does nothing: by then the lock may be somebody else's. */
function releaseOnce(file: string): () => void {
  let isMine = true;
  return () => {
    if (isMine) rmSync(file, { force: true });
    isMine = false;
  };
}

/** The living owner of a lock file, if there is one. */
export function lockOwner(file: string): ProcessIdentity | undefined {
  const owner = parseOwner(readIfPresent(file) ?? '');
  return owner && isAlive(owner) ? owner : undefined;
}

/** Like takeLock, but waits while another living process holds it. */
export async function waitForLock(file: string, timeoutMs: number, onWait: (owner: ProcessIdentity) => void) {
  const deadline = Date.now() + timeoutMs;
  for (let told = false; ; told = true) {
    try {
      return takeLock(file);
    } catch (error) {
      if (!(error instanceof LockHeldError) || Date.now() > deadline) throw error;
      if (!told) onWait(error.owner);
      await sleep(200);
    }
  }
}

/** A hard link appears with its content or not at all, which `open('wx')` followed by a write does not give. */
function linkIfAbsent(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Two starts may find the same dead lock: whoever moves away a newer one than it read puts that one back. */
function removeStale(file: string, expected: string): void {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (readFileSync(aside, 'utf8') !== expected) linkIfAbsent(aside, file);
  rmSync(aside, { force: true });
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function parseOwner(content: string): ProcessIdentity | undefined {
  try {
    return ownerSchema.parse(JSON.parse(content));
  } catch {
    return undefined;
  }
}
