import { randomUUID } from 'node:crypto';
import { chmod, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ArchiveError } from './archive.ts';
import { sha256OfFile, syncFile } from './durable.ts';
import { makeFolder } from './incoming.ts';

export interface CopyLimits {
  /** Beyond so much the copies that were asked for longest ago go. */
  maxBytes: number;
  /** A copy that was asked for since is never removed: somebody may be about to open it. */
  minAgeMs: number;
}

export const copyLimits: CopyLimits = { maxBytes: 16 * 2 ** 30, minAgeMs: 6 * 3_600_000 };
const readOnly = 0o444;

/** Verified local copies of remote objects, by key; all of them can be fetched again. */
export class LocalCopies {
  readonly #folder: string;
  readonly #limits: CopyLimits;

  constructor(folder: string, limits: CopyLimits = copyLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  /**
   * Path of the object's copy; `fetch` writes it to the path that it is given where there is none yet.
   * @throws ArchiveError `hash_mismatch` when the fetched bytes are not those of the name
   */
  async of(key: string, sha256: string, fetch: (path: string) => Promise<void>): Promise<string> {
    const path = join(this.#folder, key);
    const now = new Date();
    const isThere = await utimes(path, now, now).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
    await makeFolder(dirname(path));
    await this.#makeRoom();
    // Dying before the rename leaves a file that no key names; it goes with the oldest copies.
    const incoming = `${path}.${randomUUID()}`;
    try {
      await fetch(incoming);
      const found = await sha256OfFile(incoming);
      if (found !== sha256) throw new ArchiveError('hash_mismatch', `${key} holds bytes with hash ${found}`);
      await chmod(incoming, readOnly);
      // A name that outlives its bytes in a power cut would pass for the object, and a good publication for a damaged one.
      await syncFile(incoming);
      await rename(incoming, path);
    } finally {
      await rm(incoming, { force: true });
    }
    return path;
  }

  async discard(key: string): Promise<void> {
    await rm(join(this.#folder, key), { force: true });
  }

  async #makeRoom(): Promise<void> {
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true });
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const files = await Promise.all(
      paths.map(async (path) => {
        const found = await stat(path).catch(() => null);
        return { path, bytes: found?.size ?? 0, askedAt: found?.mtimeMs ?? 0 };
      }),
    );
    let bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    for (const file of files.sort((one, other) => one.askedAt - other.askedAt)) {
      if (bytes <= this.#limits.maxBytes || Date.now() - file.askedAt < this.#limits.minAgeMs) return;
      await rm(file.path, { force: true });
      bytes -= file.bytes;
    }
  }
}
