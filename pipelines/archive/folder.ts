import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { isRegisterName } from '../../schemas/registers.ts';
import { type Archive, ArchiveError, type ObjectName, objectKinds } from './archive.ts';
import { sha256OfFile, syncFile, syncFolder } from './durable.ts';

const incoming = 'incoming';
const readOnly = 0o444;

/** The archive as a folder: `<root>/<register>/<kind>/<sha256>`, files being written in `<root>/incoming`. */
export class FolderArchive implements Archive {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async put(name: ObjectName, file: string): Promise<'stored' | 'already_there'> {
    const target = this.#path(name);
    if ((await this.size(name)) !== null) {
      await rm(file, { force: true });
      return 'already_there';
    }
    const found = await sha256OfFile(file);
    if (found !== name.sha256) {
      throw new ArchiveError('hash_mismatch', `${basename(file)} should have hash ${name.sha256}, but has ${found}`);
    }
    await this.#makeFolder(dirname(target));
    // Dying before the rename leaves the file where it was and no object: the repeat goes on from there.
    await chmod(file, readOnly);
    await syncFile(file);
    try {
      await rename(file, target);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
      await this.#copyInto(target, file);
    }
    // Dying here: after a power cut the object may be there or not, and the catalogue does not name it yet.
    await syncFolder(dirname(target));
    return 'stored';
  }

  async size(name: ObjectName): Promise<number | null> {
    try {
      return (await stat(this.#path(name))).size;
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async localFile(name: ObjectName): Promise<string> {
    if ((await this.size(name)) === null) throw notFound(name);
    return this.#path(name);
  }

  async read(name: ObjectName): Promise<Readable> {
    return createReadStream(await this.localFile(name), { highWaterMark: 1024 * 1024 });
  }

  async incomingFile(label: string): Promise<string> {
    if (!/^[a-z0-9_.-]+$/.test(label)) throw new ArchiveError('name_invalid', 'a label holds a-z, 0-9, _ . - only');
    const folder = join(this.#root, incoming);
    await this.#makeFolder(folder);
    return join(folder, label);
  }

  async discardIncoming(olderThanMs: number): Promise<number> {
    const folder = join(this.#root, incoming);
    const names = await readdir(folder).catch((error) => (isMissing(error) ? [] : Promise.reject(error)));
    let discarded = 0;
    for (const name of names) {
      const path = join(folder, name);
      const found = await stat(path).catch(() => null);
      if (found === null || Date.now() - found.mtimeMs < olderThanMs) continue;
      await rm(path, { force: true });
      discarded += 1;
    }
    return discarded;
  }

  /** From another device a rename is not possible: copy under a name of its own, then rename. */
  async #copyInto(target: string, file: string): Promise<void> {
    const copy = await this.incomingFile(`put-${randomUUID()}`);
    await copyFile(file, copy);
    await syncFile(copy);
    await rename(copy, target);
    await rm(file, { force: true });
  }

  async #makeFolder(folder: string): Promise<void> {
    const first = await mkdir(folder, { recursive: true });
    if (first === undefined) return;
    // A new folder's own name must be on disk before a file in it counts as kept.
    for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
  }

  #path({ register, kind, sha256 }: ObjectName): string {
    if (!isRegisterName(register) || !objectKinds.includes(kind) || !/^[0-9a-f]{64}$/.test(sha256)) {
      throw new ArchiveError('name_invalid', 'an object is named by register, kind and a sha256 in lower-case hex');
    }
    return join(this.#root, register, kind, sha256);
  }
}

/** The archive at ARCHIVE_URL. */
export function openArchive(archiveUrl: string): Archive {
  return new FolderArchive(fileURLToPath(archiveUrl));
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function notFound(name: ObjectName): ArchiveError {
  return new ArchiveError('not_found', `the archive has no ${name.register}/${name.kind}/${name.sha256}`);
}
