import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { writeWholeFile } from '../runtime/durable-files.ts';

/** What the site declared about the version of the file that is being downloaded. */
const noteSchema = z.object({
  url: z.string(),
  etag: z.string().nullable(),
  lastModified: z.string().nullable(),
  /** The header `Date` of the answer. Notes of earlier releases lack it. */
  answeredAt: z.string().nullable().default(null),
  contentType: z.string().nullable(),
  declaredBytes: z.number().int().nullable(),
  /** Null until every byte is on disk. */
  finished: z.object({ sha256: z.string(), bytes: z.number().int() }).nullable(),
});
export type PartNote = z.output<typeof noteSchema>;

/**
 * The two files of a download in progress: its bytes under a temporary name, and a note of the version that the site
 * declared. With the note, a later process can resume the download. The note stays until PostgreSQL has recorded the
 * download. Otherwise a process that dies between archiving and recording would cause a second download.
 */
export class PartFile {
  readonly path: string;
  readonly #notePath: string;

  constructor(path: string) {
    this.path = path;
    this.#notePath = `${path}.json`;
  }

  /** Returns null when there is no note or the note is damaged. The download then starts over. */
  async readNote(): Promise<PartNote | null> {
    try {
      return noteSchema.parse(JSON.parse(await readFile(this.#notePath, 'utf8')));
    } catch {
      return null;
    }
  }

  async writeNote(note: PartNote): Promise<void> {
    await writeWholeFile(this.#notePath, `${this.#notePath}.new`, (temporary) =>
      writeFile(temporary, JSON.stringify(note)),
    );
  }

  async size(): Promise<number> {
    return (await stat(this.path).catch(() => null))?.size ?? 0;
  }

  /**
   * Opens the file and cuts it at byte `from`, so that writing continues there. The returned hash already contains the
   * bytes before `from`.
   */
  async openAt(from: number): Promise<{ handle: FileHandle; hash: Hash }> {
    const handle = await open(this.path, from === 0 ? 'w' : 'r+');
    const hash = createHash('sha256');
    try {
      await handle.truncate(from);
      if (from > 0) {
        await pipeline(createReadStream(this.path, { end: from - 1, highWaterMark: 1024 * 1024 }), hash, {
          end: false,
        });
      }
    } catch (error) {
      await handle.close();
      throw error;
    }
    return { handle, hash };
  }

  async discard(): Promise<void> {
    for (const path of [this.path, this.#notePath, `${this.#notePath}.new`]) await rm(path, { force: true });
  }
}
