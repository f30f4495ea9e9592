import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const stockSize = 32;

/**
 * Named pipes through which results leave the engine (`INTO OUTFILE`): every format, streamed, with the engine slowed down by
 * a slow reader, and without a native call that would hold up the event loop. A pipe is opened by one query at a time and
 * holds nothing once both its ends are closed, so a result cannot end up in the next query's answer.
 */
export class Pipes {
  readonly #folder: string;
  #free: string[] = [];
  #made = 0;
  #making: Promise<void> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The first stock. @throws when the machine has no mkfifo */
  prepare(): Promise<void> {
    return this.#make();
  }

  async take(): Promise<string> {
    while (this.#free.length === 0) await this.#make();
    return this.#free.pop()!;
  }

  giveBack(pipe: string): void {
    this.#free.push(pipe);
  }

  /** After a failed query: nobody can prove that the engine will not write to it later. */
  spoil(pipe: string): void {
    rmSync(pipe, { force: true });
  }

  #make(): Promise<void> {
    this.#making ??= this.#makeStock().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #makeStock(): Promise<void> {
    const names = Array.from({ length: stockSize }, () => path.join(this.#folder, `result-${this.#made++}`));
    await run('mkfifo', ['-m', '600', ...names]);
    this.#free.push(...names);
  }
}

/**
 * The reading end. While it is held, opening and writing can never block or fail in the engine; after `release` the stream
 * ends as soon as the engine has closed its end too.
 */
export function openReader(pipe: string): { stream: net.Socket; release: () => void } {
  let held: number | undefined = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  const fd = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const stream = new net.Socket({ fd, readable: true, writable: false });
  const release = () => {
    if (held !== undefined) closeSync(held);
    held = undefined;
  };
  return { stream, release };
}
