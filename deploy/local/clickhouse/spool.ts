import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { failure } from './errors.ts';
import type { Limits } from './limits.ts';
import { chunksOf } from './upload.ts';

/**
 * Insert bodies on disk. Inline data is never given to the engine: it cuts it at the first blank line and runs the rest as
 * SQL. The folder holds nothing that counts: a body is acknowledged only after the engine has taken it.
 */
export class Spool {
  readonly folder: string;
  readonly #limits: Limits;
  #count = 0;

  constructor(folder: string, limits: Limits) {
    this.folder = folder;
    this.#limits = limits;
  }

  /** Also removes what a process that was killed has left behind: none of it had been acknowledged. */
  async prepare(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
  }

  /**
   * Stores the whole body and answers the file's path. Whatever ends the upload early (cut connection, bad gzip, too many
   * bytes) removes the file and throws, so half a body is never inserted.
   */
  async store(head: Uint8Array, body: Readable): Promise<string> {
    this.#count += 1;
    const file = path.join(this.folder, `body-${this.#count}`);
    const target = createWriteStream(file, { mode: 0o600, highWaterMark: 1_048_576 });
    try {
      await pipeline(this.#limited(head, body), target);
      return file;
    } catch (error) {
      await this.remove(file);
      throw error;
    }
  }

  /** Leaves the body open when it is too large, so that the caller can still be told. */
  async *#limited(head: Uint8Array, body: Readable): AsyncGenerator<Uint8Array> {
    const { maxBodyBytes, uploadIdleTimeoutMs } = this.#limits;
    let bytes = head.length;
    if (bytes > 0) yield head;
    for await (const chunk of chunksOf(body, uploadIdleTimeoutMs)) {
      bytes += chunk.length;
      if (bytes > maxBodyBytes)
        throw failure(307, 'TOO_MANY_BYTES', `The insert body is larger than ${maxBodyBytes} bytes`);
      yield chunk;
    }
  }

  async remove(file: string): Promise<void> {
    await rm(file, { force: true });
  }
}
