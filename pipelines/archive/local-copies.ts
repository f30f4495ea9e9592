import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, readdir, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { makeDurableFolder, writeWholeFile } from '../runtime/durable-files.ts';
import { ArchiveError } from './archive.ts';

interface CopyLimits {
  /** Limit for all copies together. Above it, the copies that were requested longest ago are removed. */
  maxBytes: number;
  /** A copy that was requested within this time is never removed, because a caller may be about to open it. */
  minAgeMs: number;
}

const defaultLimits: CopyLimits = { maxBytes: 16 * 2 ** 30, minAgeMs: 6 * 3_600_000 };
/** File mode of archived files, which are never changed. */
export const readOnly = 0o444;

/**
 * Keeps local files that can be made again: by key, and each whole or not at all. They are copies of remote objects,
 * whose hashes are checked, and files that are made from objects.
 */
export class LocalCopies {
  readonly #folder: string;
  readonly #limits: CopyLimits;

  constructor(folder: string, limits = defaultLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  /**
   * Returns the path of the object's local copy. If there is no copy, `fetch` must write the object to the given path.
   * @throws ArchiveError `hash_mismatch` when the fetched bytes do not have this hash
   */
  of(key: string, sha256: string, fetch: (path: string) => Promise<void>): Promise<string> {
    return this.made(key, async (incoming) => {
      await fetch(incoming);
      await checkHash(incoming, sha256, `${key} in the archive`);
    });
  }

  /** Returns the path of the key's file, or null if it must be made. Being asked for keeps a file from its removal. */
  async find(key: string): Promise<string | null> {
    const path = join(this.#folder, key);
    const now = new Date();
    return await utimes(path, now, now).then(
      () => path,
      () => null,
    );
  }

  /** Returns the path of the key's file. If there is no file, `write` must write it to the given path. */
  async made(key: string, write: (path: string) => Promise<void>): Promise<string> {
    const found = await this.find(key);
    if (found !== null) return found;
    const path = join(this.#folder, key);
    await makeDurableFolder(dirname(path));
    await this.#makeRoom();
    // `writeWholeFile` syncs the file before it renames the file. Otherwise a power cut could leave an incomplete file
    // under the final name. If the process dies before the rename, a temporary file is left, which `#makeRoom` removes
    // later.
    await writeWholeFile(path, `${path}.${randomUUID()}`, async (incoming) => {
      await write(incoming);
      await chmod(incoming, readOnly);
    });
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
        return { path, bytes: found?.size ?? 0, requestedAt: found?.mtimeMs ?? 0 };
      }),
    );
    let bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    for (const file of files.sort((one, other) => one.requestedAt - other.requestedAt)) {
      if (bytes <= this.#limits.maxBytes || Date.now() - file.requestedAt < this.#limits.minAgeMs) return;
      await rm(file.path, { force: true });
      bytes -= file.bytes;
    }
  }
}

/** With chunks of this size, hashing is nearly as fast as the disk. */
const readChunkBytes = 1024 * 1024;

export async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file, { highWaterMark: readChunkBytes }), hash);
  return hash.digest('hex');
}

/** @throws ArchiveError `hash_mismatch` if the file has another hash; the message calls the file by `name` */
export async function checkHash(file: string, sha256: string, name = basename(file)): Promise<void> {
  const found = await sha256OfFile(file);
  if (found === sha256) return;
  throw new ArchiveError('hash_mismatch', `${name} is damaged: its SHA-256 is ${found} instead of ${sha256}`);
}

/** Base class of all archives. It keeps unfinished files in a local folder. */
export class IncomingFiles {
  readonly #incomingFolder: string;

  constructor(incomingFolder: string) {
    this.#incomingFolder = incomingFolder;
  }

  async incomingFile(label: string): Promise<string> {
    if (!/^[a-z0-9_.-]+$/.test(label)) throw new ArchiveError('name_invalid', 'a label holds a-z, 0-9, _ . - only');
    await makeDurableFolder(this.#incomingFolder);
    return join(this.#incomingFolder, label);
  }

  async discardIncoming(olderThanMs: number): Promise<void> {
    const names = await readdir(this.#incomingFolder).catch((error) => (isMissing(error) ? [] : Promise.reject(error)));
    for (const name of names) {
      const path = join(this.#incomingFolder, name);
      const found = await stat(path).catch(() => null);
      if (found !== null && Date.now() - found.mtimeMs >= olderThanMs) await rm(path, { force: true });
    }
  }
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
