import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ZodType, z } from 'zod';
import { moveIntoPlaceSync } from '../../pipelines/runtime/durable-files.ts';

/** Writes a JSON file completely or not at all, so that nobody reads half a file, even after a crash. */
export function writeJsonFile(file: string, value: unknown, mode = 0o644): void {
  const temporary = `${file}.${randomUUID()}.partial`;
  try {
    writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`, { mode, flag: 'wx' });
    moveIntoPlaceSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** The file's value, or undefined when the file is missing or has another shape. */
export function readJsonFile<T>(file: string, schema: ZodType<T>): T | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

/** A process: its number, and its start time, because the system may give an ended process's number to another one. */
export interface ProcessIdentity {
  pid: number;
  /** On Linux the boot id and clock tick of the start, elsewhere the time from `ps`. Compare it only with `===`. */
  startedAt: string;
}

interface ProcessRow {
  pid: number;
  parent: number;
  startedAt: string;
}

/** Returns the process that has this number now, or undefined when there is none or only a zombie. */
export function identify(pid: number): ProcessIdentity | undefined {
  const row = process.platform === 'linux' ? rowFromProc(pid) : rowsFromPs(['-p', String(pid)])[0];
  return row && { pid, startedAt: row.startedAt };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.startedAt === identity.startedAt;
}

/**
 * Returns the children of a living process, their children, and so on. Call it before the process is killed, because
 * the children of a killed process get another parent.
 */
export function descendantsOf(pid: number): ProcessIdentity[] {
  const rows = process.platform === 'linux' ? rowsFromProc() : rowsFromPs(['-ax']);
  const found: ProcessRow[] = [];
  let parents = new Set([pid]);
  while (parents.size > 0) {
    const children = rows.filter((row) => parents.has(row.parent));
    found.push(...children);
    parents = new Set(children.map((row) => row.pid));
  }
  return found.map(({ pid: child, startedAt }) => ({ pid: child, startedAt }));
}

/** Sends the signal only if the process still runs. After its end, its number may belong to another process. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isAlive(identity)) return;
  try {
    process.kill(identity.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // ESRCH: the process ended since the check
  }
}

let bootId: string | undefined;

function rowFromProc(pid: number): ProcessRow | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    bootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return undefined;
  }
  // `stat` is the line "pid (name) state parent …". The name may hold spaces and brackets, so the fields are counted
  // from the last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  return { pid, parent: Number(fields[1]), startedAt: `${bootId}:${fields[19]}` };
}

function rowsFromProc(): ProcessRow[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => rowFromProc(Number(name)))
    .filter((row) => row !== undefined);
}

function rowsFromPs(selection: string[]): ProcessRow[] {
  const { stdout } = spawnSync('ps', [...selection, '-o', 'pid=,ppid=,stat=,lstart='], { encoding: 'utf8' });
  return (stdout ?? '')
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line))
    .filter((match) => match !== null)
    .filter((match) => !match[3]!.startsWith('Z'))
    .map((match) => ({ pid: Number(match[1]), parent: Number(match[2]), startedAt: match[4]! }));
}

export const identitySchema = z.object({ pid: z.number().int(), startedAt: z.string() });

export class LockHeldError extends Error {
  override name = 'LockHeldError';
  readonly owner: ProcessIdentity;
  constructor(file: string, owner: ProcessIdentity) {
    super(`${file} is held by process ${owner.pid}`);
    this.owner = owner;
  }
}

/**
 * Takes a lock file for this process and returns the function that releases the lock. If the owner of the lock is dead,
 * for example after a crash, this process takes over the lock.
 * @throws LockHeldError when the owner of the lock is alive
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

/** Returns a function that releases the lock. A second call does nothing: another process may hold the lock by then. */
function releaseOnce(file: string): () => void {
  let isMine = true;
  return () => {
    if (isMine) rmSync(file, { force: true });
    isMine = false;
  };
}

/** The living process that holds the lock file, or undefined when there is none. */
export function lockOwner(file: string): ProcessIdentity | undefined {
  const owner = parseOwner(readIfPresent(file) ?? '');
  return owner && isAlive(owner) ? owner : undefined;
}

/** Takes a lock file as `takeLock` does, but waits while another living process holds it. */
export async function waitForLock(file: string, timeoutMs: number, onWait: (owner: ProcessIdentity) => void) {
  const deadline = Date.now() + timeoutMs;
  for (let hasWaited = false; ; hasWaited = true) {
    try {
      return takeLock(file);
    } catch (error) {
      if (!(error instanceof LockHeldError) || Date.now() > deadline) throw error;
      if (!hasWaited) onWait(error.owner);
      await sleep(200);
    }
  }
}

/**
 * Makes `to` a second name of the file `from`, or returns false if `to` exists. So a lock file is complete when it
 * appears. A lock file that is opened with 'wx' could be read before its content is written.
 */
function linkIfAbsent(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes the lock of a dead owner. `expected` is the lock's content. Two processes may both read the dead lock. The
 * faster one then removes it and takes a new lock. If the slower one moves the new lock away, it puts the new lock
 * back.
 */
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
    return identitySchema.parse(JSON.parse(content));
  } catch {
    return undefined;
  }
}
