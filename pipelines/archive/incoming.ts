import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ArchiveError } from './archive.ts';
import { syncFolder } from './durable.ts';

/** The local folder of files that are still being written. */
export class IncomingFolder {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async file(label: string): Promise<string> {
    if (!/^[a-z0-9_.-]+$/.test(label)) throw new ArchiveError('name_invalid', 'a label holds a-z, 0-9, _ . - only');
    await makeFolder(this.#folder);
    return join(this.#folder, label);
  }

  async discard(olderThanMs: number): Promise<number> {
    const names = await readdir(this.#folder).catch((error) => (isMissing(error) ? [] : Promise.reject(error)));
    let discarded = 0;
    for (const name of names) {
      const path = join(this.#folder, name);
      const found = await stat(path).catch(() => null);
      if (found === null || Date.now() - found.mtimeMs < olderThanMs) continue;
      await rm(path, { force: true });
      discarded += 1;
    }
    return discarded;
  }
}

/** Makes a folder that is there also after a power cut: a new folder's own name must be on disk before a file in it counts as kept. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
