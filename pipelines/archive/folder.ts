import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, copyFile, link, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { makeDurableFolder, moveIntoPlace, syncToDisk, writeWholeFile } from '../runtime/durable-files.ts';
import {
  type Archive,
  notFound,
  type ObjectName,
  objectKey,
  removableKey,
  type TextStore,
  textKey,
} from './archive.ts';
import { checkHash, IncomingFiles, isMissing, readOnly } from './local-copies.ts';

/** An archive in a folder: objects are `<root>/<register>/<kind>/<sha256>`, unfinished files in `<root>/incoming`. */
export class FolderArchive extends IncomingFiles implements Archive {
  readonly #root: string;
  /**
   * The objects whose hash this process knows to be right, by path, each with its size and time of change. A restart or
   * a changed file makes the next `localFile` read the object once more.
   */
  readonly #checked = new Map<string, string>();

  constructor(root: string) {
    super(join(root, 'incoming'));
    this.#root = root;
  }

  async put(name: ObjectName, file: string): Promise<'stored' | 'already_there'> {
    const target = this.#path(name);
    if ((await this.size(name)) !== null) {
      // The process that stored this file may have died before it synced the folder, so the folder is synced again.
      await syncToDisk(dirname(target));
      await rm(file, { force: true });
      return 'already_there';
    }
    await checkHash(file, name.sha256);
    await makeDurableFolder(dirname(target));
    await chmod(file, readOnly);
    try {
      await moveIntoPlace(file, target);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
      await this.#copyInto(target, file);
    }
    this.#checked.set(target, markOf(await stat(target)));
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
    const path = this.#path(name);
    const found = await stat(path).catch((error) => {
      if (isMissing(error)) throw notFound(name);
      throw error;
    });
    const mark = markOf(found);
    if (this.#checked.get(path) !== mark) {
      await checkHash(path, name.sha256, `${objectKey(name)} in the archive`);
      this.#checked.set(path, mark);
    }
    return path;
  }

  async read(name: ObjectName): Promise<Readable> {
    return createReadStream(await this.localFile(name), { highWaterMark: 1024 * 1024 });
  }

  async remove(name: ObjectName): Promise<void> {
    await rm(join(this.#root, removableKey(name)), { force: true });
    this.#checked.delete(this.#path(name));
  }

  /** A file on another device cannot be renamed into the archive, so it is first copied to a temporary name there. */
  async #copyInto(target: string, file: string): Promise<void> {
    const copy = await this.incomingFile(`put-${randomUUID()}`);
    await writeWholeFile(target, copy, (temporary) => copyFile(file, temporary));
    await rm(file, { force: true });
  }

  #path(name: ObjectName): string {
    return join(this.#root, objectKey(name));
  }
}

/** A text that is another one after the file was changed. */
function markOf({ size, mtimeMs }: { size: number; mtimeMs: number }): string {
  return `${size} ${mtimeMs}`;
}

export class FolderTexts implements TextStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async put(folder: string, file: string, text: string): Promise<'stored' | 'already_there'> {
    const target = join(this.#root, textKey(folder, file));
    await makeDurableFolder(dirname(target));
    const incoming = `${target}.${randomUUID()}.incoming`;
    await writeFile(incoming, text);
    await syncToDisk(incoming);
    try {
      // `link` fails if the name is taken. A rename would replace the stored text instead. If the process dies before
      // `link`, an `.incoming` file is left, which nobody reads.
      await link(incoming, target);
      await syncToDisk(dirname(target));
      return 'stored';
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      return 'already_there';
    } finally {
      await rm(incoming, { force: true });
    }
  }

  async read(folder: string, file: string): Promise<string | null> {
    return await readFile(join(this.#root, textKey(folder, file)), 'utf8').catch((error) => {
      if (isMissing(error)) return null;
      throw error;
    });
  }

  async list(folder: string): Promise<string[]> {
    const names = await readdir(join(this.#root, folder)).catch((error) => {
      if (isMissing(error)) return [];
      throw error;
    });
    return names.filter((name) => !name.endsWith('.incoming'));
  }
}
