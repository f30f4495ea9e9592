import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Connections, Native } from './connections.ts';
import { failure } from './reply.ts';
import type { Token } from './statement.ts';

/** One query in the engine. The engine chooses its own ids; the caller's id is in `tag`, a comment before the query. */
export type Run = { queryId: string; tag: string; killed: boolean };

const tagStart = '/*query_id=';
/** An SQL expression for the caller's query id in a row of system.processes. */
const idOfProcess = `extract(query, '^/\\\\*query_id=([^;]*);')`;

/** Keeps the queries that run in the engine by their caller's id, and can kill them. */
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
   * Runs `work`, whose query must begin with the run's tag. When the caller goes away, `onStop` is called and the query
   * is killed.
   * @throws QueryFailure 216 while another query with this id runs, 735 when the caller has already gone and nothing
   *   was run
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
    // Characters that could end the comment are replaced.
    const safeId = queryId.replace(/[^A-Za-z0-9_.:-]/g, '_').slice(0, 200);
    const run = { queryId, tag: `${tagStart}${safeId};${this.#count}*/`, killed: false };
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

  /** Repeats KILL QUERY until the query has ended: the first kill may come before the query began in the engine. */
  async kill(run: Run): Promise<void> {
    if (run.killed) return;
    run.killed = true;
    while (this.#running.has(run)) {
      await this.ask(`KILL QUERY WHERE startsWith(query, '${run.tag}') ASYNC`).catch(() => undefined);
      await sleep(this.#killRepeatMs);
    }
  }

  /** Runs a statement on a new connection and without a slot, because a kill must work when all slots are taken. */
  async ask(sql: string, format = 'TabSeparated', parameters: Record<string, string> = {}): Promise<Buffer> {
    const connection = await this.#connections.open({ database: 'system', settings: new Map() });
    try {
      return (await this.#native.QueryAsyncConnection(connection, sql, format, parameters)).bytes;
    } finally {
      this.#connections.drop({ connection });
    }
  }

  /** Makes query_id in a caller's KILL QUERY mean the caller's id. SYNC becomes ASYNC: SYNC never returns in chDB. */
  rewriteKill(text: string, words: Iterable<Token>): string {
    let out = '';
    let at = 0;
    let mode = ' ASYNC';
    for (const token of words) {
      const word = token.text.toLowerCase();
      const isId = ['query_id', '`query_id`', '"query_id"'].includes(word);
      const isMode = token.depth === 0 && ['sync', 'async'].includes(word);
      const isFormat = token.depth === 0 && word === 'format';
      if (token.depth === 0 && word === 'test') mode = '';
      if (!isId && !isMode && !isFormat) continue;
      out += text.slice(at, token.start) + (isId ? idOfProcess : isFormat ? `${mode} FORMAT` : '');
      if (isFormat) mode = '';
      at = token.end;
    }
    return `${out}${text.slice(at)}${mode}`;
  }
}

const run = promisify(execFile);
const stockSize = 32;

/**
 * Named pipes through which results leave the engine (`INTO OUTFILE`). They stream every format, slow the engine down
 * when the caller reads slowly, and need no native call that blocks the event loop. One query at a time uses a pipe,
 * and a pipe is empty once both its ends are closed, so a result cannot end up in the next query's answer.
 */
export class Pipes {
  readonly #folder: string;
  #free: string[] = [];
  #made = 0;
  #making: Promise<void> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Makes the first pipes. @throws Error when the machine has no mkfifo */
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

  /** Deletes the pipe of a failed query, because the engine might still write to it later. */
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
 * Opens the reading end of a pipe. A second descriptor holds the pipe open, so that the engine's open and write never
 * block for ever and never fail. `release` closes it, and then the stream ends as soon as the engine closes its end.
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
