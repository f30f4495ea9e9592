import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

// The library write-file-atomic is not used. It takes the content as one string or buffer, and version 8 needs Node 22.
// No version syncs the folder after the rename. A power cut can then undo a rename that PostgreSQL relies on.

/**
 * Writes a file under a temporary name and renames it to `path` once every byte is on the disk. A reader of `path` sees
 * the old file or the new file, and never half a file. When this resolves, the new file survives a power cut.
 * - If the process dies before the rename, the old file stays. The owner of the temporary file must remove it.
 * - If power fails between the rename and the sync of the folder, `path` has the old file or the new file.
 * - After an error the temporary file is removed, so that repeated attempts do not fill the disk.
 * @param write fills the temporary file and closes it
 */
export async function writeWholeFile<Result>(
  path: string,
  temporary: string,
  write: (temporary: string) => Promise<Result>,
): Promise<Result> {
  try {
    const result = await write(temporary);
    await moveIntoPlace(temporary, path);
    return result;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** The second half of `writeWholeFile`, for a closed file: syncs the file, renames it, and syncs its folder. */
export async function moveIntoPlace(temporary: string, path: string): Promise<void> {
  await syncToDisk(temporary);
  await rename(temporary, path);
  await syncToDisk(dirname(path));
}

export function moveIntoPlaceSync(temporary: string, path: string): void {
  syncToDiskSync(temporary);
  renameSync(temporary, path);
  syncToDiskSync(dirname(path));
}

/** Resolves when a file's bytes, or a folder's entries (new names and renames), are on the disk. */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function syncToDiskSync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Makes a folder that survives a power cut. Without the sync of its parent, the folder could vanish with its files. */
export async function makeDurableFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncToDisk(dirname(made));
}

/**
 * A file that is written piece by piece under a temporary name. `finish` gives the whole file its own name. If the
 * process dies before, the temporary file stays, and its owner must remove it.
 */
export class AttemptFile {
  /** Bytes appended so far. */
  bytes = 0;
  readonly #folder: string;
  readonly #path: string;
  readonly #file: number;
  #state: 'open' | 'closed' | 'finished' = 'open';

  constructor(folder: string, attempt: string) {
    this.#folder = folder;
    this.#path = join(folder, attempt);
    this.#file = openSync(this.#path, 'w');
  }

  append(piece: Uint8Array): void {
    this.writeAt(piece, this.bytes);
    this.bytes += piece.length;
  }

  writeAt(piece: Uint8Array, position: number): void {
    for (let done = 0; done < piece.length; ) {
      done += writeSync(this.#file, piece, done, piece.length - done, position + done);
    }
  }

  /** Renames the complete file to `name`, makes it durable, and returns its path. */
  finish(name: string): string {
    const path = join(this.#folder, name);
    this.#close();
    moveIntoPlaceSync(this.#path, path);
    this.#state = 'finished';
    return path;
  }

  /** Closes and removes the temporary file. Does nothing after `finish`. */
  discard(): void {
    if (this.#state === 'finished') return;
    this.#close();
    rmSync(this.#path, { force: true });
  }

  #close(): void {
    if (this.#state === 'open') closeSync(this.#file);
    this.#state = 'closed';
  }
}
