import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Connection, Connections, Native } from './connections.ts';
import { failure } from './reply.ts';

/** One query in the engine. The engine chooses its own ids; the caller's id is in `tag`, a comment before the query. */
export type Run = { queryId: string; tag: string; killed: boolean };

/** The list of the queries that run in the engine. It refuses a second query with the same id, and can kill a query. */
export class Runs {
  readonly #native: Native;
  readonly #connections: Connections;
  readonly #killRepeatMs: number;
  readonly #running = new Set<Run>();
  #count = 0;

  constructor(native: Native, connections: Connections, killRepeatMs: number) {
    this.#native = native;
    this.#connections = connections;
    this.#killRepeatMs = killRepeatMs;
  }

  get running(): ReadonlySet<Run> {
    return this.#running;
  }

  /**
   * Runs `work`, whose query must begin with the run's tag. If the caller goes away, `onStop` is called and the query
   * is killed.
   * @throws QueryFailure 216 while another query with this id runs; 735 when the caller has gone before `work` began
   */
  async during<T>(
    queryId: string,
    signal: AbortSignal,
    work: (run: Run) => Promise<T>,
    onStop: () => void = () => undefined,
  ): Promise<T> {
    if (signal.aborted) throw failure(735, 'QUERY_WAS_CANCELLED_BY_CLIENT', 'The client has closed the connection');
    if ([...this.#running].some((other) => other.queryId === queryId))
      throw failure(216, 'QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING', `Query with id = ${queryId} is already running`);
    this.#count += 1;
    // Characters that could end the SQL comment in the tag are replaced.
    const safeId = queryId.replace(/[^A-Za-z0-9_.:-]/g, '_').slice(0, 200);
    const run = { queryId, tag: `/*query_id=${safeId};${this.#count}*/`, killed: false };
    const stop = () => {
      onStop();
      void this.kill(run);
    };
    this.#running.add(run);
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await work(run);
    } finally {
      this.#running.delete(run);
      signal.removeEventListener('abort', stop);
    }
  }

  /**
   * Repeats KILL QUERY until the query has ended, because the first kill may come before the engine knows the query. A
   * kill waits for no slot: it must work when all slots are taken. It is ASYNC, because SYNC never returns in chDB.
   */
  async kill(run: Run): Promise<void> {
    if (run.killed) return;
    run.killed = true;
    const sql = `KILL QUERY WHERE startsWith(query, '${run.tag}') ASYNC`;
    const ask = (connection: Connection) => this.#native.QueryAsyncConnection(connection, sql, 'Null');
    while (this.#running.has(run)) {
      await this.#connections.use({ database: 'system', settings: new Map() }, false, ask).catch(() => undefined);
      await sleep(this.#killRepeatMs);
    }
  }
}

const run = promisify(execFile);
const stockSize = 32;

/**
 * Named pipes through which results leave the engine (`INTO OUTFILE`). A pipe works for every format, never blocks the
 * event loop, and slows the engine down when the caller reads slowly. Only one query at a time uses a pipe. A pipe is
 * empty once both its ends are closed. So no part of a result can get into the next query's answer.
 */
export class Pipes {
  readonly #folder: string;
  #free: string[] = [];
  #made = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async take(): Promise<string> {
    while (this.#free.length === 0) await this.makeStock();
    return this.#free.pop()!;
  }

  giveBack(pipe: string): void {
    this.#free.push(pipe);
  }

  /** Deletes the pipe of a failed query, because the engine might still write to it later. */
  spoil(pipe: string): void {
    rmSync(pipe, { force: true });
  }

  /** @throws Error when the machine has no mkfifo */
  async makeStock(): Promise<void> {
    const names = Array.from({ length: stockSize }, () => path.join(this.#folder, `result-${this.#made++}`));
    await run('mkfifo', ['-m', '600', ...names]);
    this.#free.push(...names);
  }
}

/**
 * Opens the reading end of a pipe. A second descriptor holds the pipe open, so that the engine's open and write never
 * fail and never block for ever. `release` closes the second descriptor. Only after `release` can the stream end: it
 * ends when the engine closes the writing end.
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
