import type { Stats, WriteStream } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { moveIntoPlace } from '../runtime/durable-files.ts';
import { ReplayError } from './types.ts';

/** Mode of a new file. It holds data of natural persons, so only its owner may read it. */
const privateMode = 0o600;
const groupRights = 0o070;

export interface OutputFileLimits {
  /** How often a run touches its partial file, so that other runs see that it is in use. */
  touchEveryMs: number;
  /** A run died if its partial file was not touched for so long. Writing one row group blocks for a second or two. */
  leftAfterMs: number;
}

const defaultLimits: OutputFileLimits = { touchEveryMs: 1_000, leftAfterMs: 10_000 };

/**
 * Writes an export into `FILE.partial` and renames it to the file when it is complete. A link is followed, and its
 * target is written. A new file is readable for its owner only; a file that is replaced keeps its mode. The partial
 * file has the same mode from its first byte.
 *
 * The partial file is also the lock on the name: the run that makes it writes the file, and another run is refused. If
 * the process dies, the partial file is left. The next run sees that nobody touches it, removes it and makes its own.
 * After an error the partial file is removed, and the earlier file stays as it was.
 * @param note is called with a remark when this run waits for an earlier one
 * @throws ReplayError `output_in_use` when another run writes the same file
 */
export async function writeOutputFile<Result>(
  path: string,
  write: (out: Writable) => Promise<Result>,
  note: (text: string) => void,
  limits: OutputFileLimits = defaultLimits,
): Promise<Result> {
  const target = await targetOf(path);
  const partial = `${target}.partial`;
  const file = await openPartial(partial, note, limits);
  const own = await file.stat();
  const touch = () => utimes(partial, new Date(), new Date()).catch(() => {});
  const touching = setInterval(touch, limits.touchEveryMs);
  // The stream closes the file. The empty listener only keeps an error from ending the process: `finished` rejects with
  // the error, even if it came earlier.
  const out = file.createWriteStream().on('error', () => {});
  try {
    await takeMode(file, own, target);
    const result = await write(out);
    await finished(out.end());
    // Another run has taken the name if this process stood still for longer than `leftAfterMs`, as after Ctrl-Z.
    if (!(await isAt(partial, own))) throw inUse(partial);
    await moveIntoPlace(partial, target);
    return result;
  } catch (error) {
    await closed(out);
    if (await isAt(partial, own)) await rm(partial, { force: true });
    throw error;
  } finally {
    clearInterval(touching);
  }
}

/** Resolves when the file is closed, after a write that has begun has ended. */
async function closed(out: WriteStream): Promise<void> {
  if (!out.closed) await new Promise<void>((resolve) => out.once('close', resolve).destroy());
}

/** Returns the path that a chain of links ends at, also when no file is there yet. */
async function targetOf(path: string): Promise<string> {
  const found = await unlessMissing(realpath(path));
  if (found !== null) return found;
  const folder = await realpath(dirname(path));
  const link = await unlessMissing(lstat(path));
  return link === null ? join(folder, basename(path)) : await targetOf(resolve(folder, await readlink(path)));
}

/** The flag `wx` fails if the name is taken. So one of several runs gets the file, and no planted link is opened. */
async function openPartial(
  partial: string,
  note: (text: string) => void,
  limits: OutputFileLimits,
): Promise<FileHandle> {
  let first: Stats | null = null;
  let seenAt = 0;
  for (;;) {
    try {
      return await open(partial, 'wx', privateMode);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const found = await unlessMissing(lstat(partial));
    if (found === null) continue;
    if (first === null) {
      [first, seenAt] = [found, performance.now()];
      note(`${partial} is there: waiting up to ${limits.leftAfterMs / 1_000} s to see whether another run writes it.`);
    } else if (!isUntouched(first, found)) {
      throw inUse(partial);
    } else if (performance.now() - seenAt > limits.leftAfterMs) {
      await rm(partial, { force: true });
      first = null;
    }
    await delay(limits.touchEveryMs / 4);
  }
}

function isUntouched(before: Stats, now: Stats): boolean {
  return before.ino === now.ino && before.mtimeMs === now.mtimeMs && before.size === now.size;
}

/**
 * Gives the partial file the owner and the mode of the file that it will replace. Without the right to set the owner,
 * the group's rights are left out: they were meant for another group.
 */
async function takeMode(file: FileHandle, { uid, gid }: Stats, target: string): Promise<void> {
  const replaced = await unlessMissing(stat(target));
  if (replaced === null) return;
  let mode = replaced.mode & 0o777;
  if (uid !== replaced.uid || gid !== replaced.gid) {
    await file.chown(replaced.uid, replaced.gid).catch(() => {
      mode &= ~groupRights;
    });
  }
  await file.chmod(mode);
}

async function isAt(path: string, own: Stats): Promise<boolean> {
  const found = await unlessMissing(lstat(path));
  return found !== null && found.ino === own.ino && found.dev === own.dev;
}

async function unlessMissing<Found>(looked: Promise<Found>): Promise<Found | null> {
  try {
    return await looked;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function inUse(partial: string): ReplayError {
  return new ReplayError('output_in_use', `another run writes ${partial}`);
}
