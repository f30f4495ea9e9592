import { createRequire } from 'node:module';
import path from 'node:path';
import { asFailure, failure } from './reply.ts';

/** How a connection was set up. Queries with the same database and settings may use the same connection. */
type ConnectionKey = { database: string; settings: ReadonlyMap<string, string> };

/**
 * Settings of every connection, unless a caller sets other values. By default, async_insert delays the acknowledgement
 * of an insert. Parallel formatting takes threads and delays the first row. Several insert threads can make the rows of
 * one body visible part by part.
 */
const ourSettings = new Map([
  ['async_insert', '0'],
  ['output_format_parallel_formatting', '0'],
  ['max_insert_threads', '1'],
]);

const quoted = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const named = (name: string) => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;

/** Returns a `SET` statement for the settings. readonly comes last, because no setting can be changed after it. */
export function setStatement(settings: ReadonlyMap<string, string>): string {
  const ordered = [...settings].sort(([a], [b]) => Number(a === 'readonly') - Number(b === 'readonly'));
  return `SET ${ordered.map(([name, value]) => `${name} = ${quoted(value)}`).join(', ')}`;
}

/**
 * Keeps unused engine connections for later queries with the same database and the same settings. A connection gets its
 * settings only once, by SET, when it is opened. So the settings are part of the key under which it is kept.
 */
export class Connections {
  readonly #native: Native;
  readonly #dataPath: string;
  readonly #maxIdle: number;
  /** Unused connections. The first was used least recently. */
  #idle: { key: string; connection: Connection }[] = [];

  constructor(native: Native, dataPath: string, maxIdle: number) {
    this.#native = native;
    this.#dataPath = dataPath;
    this.#maxIdle = maxIdle;
  }

  /**
   * Runs `work` on a connection with this database and these settings. The connection is closed afterwards in two
   * cases:
   * - `work` failed: the rest of the failed query's output would begin the next result.
   * - `changesIt` is true: `work` changes the connection's database or settings.
   * @throws QueryFailure, for example 115 for an unknown setting or 81 for an unknown database
   */
  async use<T>(wanted: ConnectionKey, changesIt: boolean, work: (connection: Connection) => Promise<T>): Promise<T> {
    const key = keyOf(wanted);
    const at = this.#idle.findLastIndex((idle) => idle.key === key);
    try {
      const connection = at < 0 ? await this.#open(wanted) : this.#idle.splice(at, 1)[0]!.connection;
      let keep = false;
      try {
        const result = await work(connection);
        keep = !changesIt;
        return result;
      } finally {
        if (keep) this.#idle.push({ key, connection });
        else this.#native.CloseConnection(connection);
        if (this.#idle.length > this.#maxIdle) this.#native.CloseConnection(this.#idle.shift()!.connection);
      }
    } catch (error) {
      throw asFailure(error);
    }
  }

  /** Closes the unused connections. */
  close(): void {
    for (const { connection } of this.#idle.splice(0)) this.#native.CloseConnection(connection);
  }

  async #open(wanted: ConnectionKey): Promise<Connection> {
    const connection = this.#native.CreateConnection(this.#dataPath);
    try {
      await this.#native.QueryAsyncConnection(connection, `USE ${named(wanted.database)}`, 'Null');
      const settings = new Map([...ourSettings, ...wanted.settings]);
      await this.#native.QueryAsyncConnection(connection, setStatement(settings), 'Null');
      return connection;
    } catch (error) {
      this.#native.CloseConnection(connection);
      throw error;
    }
  }
}

function keyOf({ database, settings }: ConnectionKey): string {
  return JSON.stringify([database, [...settings].sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/**
 * The native functions of the engine in chdb 3.4.0. The package's own wrappers are not used. Its `Session` runs
 * parameterised queries one by one and hides the number of written rows. `chdb/connection` leaks settings and buffers.
 */
export interface Native {
  /** Queries run one by one on one connection, in parallel on several. A process can open only one data path. */
  CreateConnection(dataPath: string, settings?: string[]): Connection;
  /** Call it only when no query runs on the connection. Otherwise the engine aborts the process. */
  CloseConnection(connection: Connection): void;
  /** Runs a query on a libuv thread. The engine binds the parameters, which are in ClickHouse's text form. */
  QueryAsyncConnection(
    connection: Connection,
    sql: string,
    format: string,
    parameters?: Record<string, string>,
  ): Promise<NativeResult>;
  /**
   * The only call that reports how many rows were written. `data` is always empty, because the engine may run inline
   * data as SQL (README).
   */
  InsertRawAsyncConnection(
    connection: Connection,
    sql: string,
    data: Uint8Array,
    countLines: boolean,
  ): Promise<NativeInsert>;
}

export type Connection = { readonly __connection: unique symbol };
export type NativeResult = { bytes: Buffer; elapsed: number; rowsRead: number; bytesRead: number };
export type NativeInsert = { elapsed: number; rowsWritten: number; bytesWritten: number };

/** @throws Error that names the platform, when the package has no engine for it */
export function loadNative(): Native {
  const require = createRequire(import.meta.url);
  const loader = path.join(path.dirname(require.resolve('chdb/package.json')), 'dist', 'loader.js');
  return (require(loader) as { loadNative(): Native }).loadNative();
}

/** Limits how many queries run at once. At most maxWaiting others wait, in order of arrival, up to maxWaitMs each. */
export class Slots {
  readonly #name: string;
  readonly #limit: number;
  readonly #queue: { maxWaiting: number; maxWaitMs: number };
  /** Functions that each give a waiting caller its slot. */
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(name: string, limit: number, queue: { maxWaiting: number; maxWaitMs: number }) {
    this.#name = name;
    this.#limit = limit;
    this.#queue = queue;
  }

  get taken(): number {
    return this.#taken;
  }

  tryEnter(): boolean {
    if (this.#taken >= this.#limit) return false;
    this.#taken += 1;
    return true;
  }

  /** @throws QueryFailure 202 when too many wait or the wait takes too long, 735 when the caller has gone */
  async enter(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw gone();
    if (this.#waiting.length === 0 && this.tryEnter()) return;
    if (this.#waiting.length >= this.#queue.maxWaiting) throw this.#tooMany('wait already');
    await new Promise<void>((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      };
      const enter = () => {
        settle();
        resolve();
      };
      const refuse = (error: Error) => {
        settle();
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(error);
      };
      const timer = setTimeout(() => refuse(this.#tooMany('ran all the time')), this.#queue.maxWaitMs);
      const onAbort = () => refuse(gone());
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(enter);
    });
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken -= 1;
    else next();
  }

  #tooMany(why: string) {
    const text = `Too many simultaneous queries: ${this.#limit} ${this.#name} run and others ${why}`;
    return failure(202, 'TOO_MANY_SIMULTANEOUS_QUERIES', text);
  }
}

const gone = () => failure(735, 'QUERY_WAS_CANCELLED_BY_CLIENT', 'The client has closed the connection');
