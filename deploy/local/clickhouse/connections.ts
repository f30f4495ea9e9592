import { createRequire } from 'node:module';
import path from 'node:path';
import { failure } from './reply.ts';

/** How a connection was set up. Queries with the same database and settings may use the same connection. */
type ConnectionKey = { database: string; settings: ReadonlyMap<string, string> };

export type Lease = { connection: Connection; key: string };

/**
 * Settings of every connection, before the caller's own. async_insert is on by default in 26.7 and would delay every
 * acknowledgement. Parallel formatting costs threads and delays the first row. With more than one insert thread the
 * rows of one body can become visible part by part.
 */
const ourSettings = new Map([
  ['async_insert', '0'],
  ['output_format_parallel_formatting', '0'],
  ['max_insert_threads', '1'],
]);

const quoted = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const named = (name: string) => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;

/** `SET …` for these settings. readonly comes last, because nothing can be set after it. */
export function setStatement(settings: ReadonlyMap<string, string>): string {
  const ordered = [...settings].sort(([a], [b]) => Number(a === 'readonly') - Number(b === 'readonly'));
  return `SET ${ordered.map(([name, value]) => `${name} = ${quoted(value)}`).join(', ')}`;
}

/**
 * Engine connections by database and settings. Settings are SET once per connection and belong to its key, so no query
 * with other settings sees them. After an error a connection must be dropped: its left-over output would begin the next
 * result.
 */
export class Connections {
  readonly #native: Native;
  readonly #dataPath: string;
  readonly #maxIdle: number;
  /** Unused connections, the oldest first. */
  #idle: Lease[] = [];

  constructor(native: Native, dataPath: string, maxIdle: number) {
    this.#native = native;
    this.#dataPath = dataPath;
    this.#maxIdle = maxIdle;
  }

  /**
   * @throws QueryFailure 115 for an unknown setting, 81 for an unknown database (as the plain error of the native call)
   */
  async take(wanted: ConnectionKey): Promise<Lease> {
    const key = keyOf(wanted);
    const at = this.#idle.findLastIndex((lease) => lease.key === key);
    if (at >= 0) return this.#idle.splice(at, 1)[0]!;
    return { connection: await this.open(wanted), key };
  }

  async open(wanted: ConnectionKey): Promise<Connection> {
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

  giveBack(lease: Lease): void {
    this.#idle.push(lease);
    while (this.#idle.length > this.#maxIdle) this.drop(this.#idle.shift()!);
  }

  /** Call it only when nothing runs on the connection any more. */
  drop(lease: { connection: Connection }): void {
    this.#native.CloseConnection(lease.connection);
  }

  close(): void {
    for (const lease of this.#idle.splice(0)) this.drop(lease);
  }
}

function keyOf({ database, settings }: ConnectionKey): string {
  return JSON.stringify([database, [...settings].sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/**
 * The entry points of the engine, as chdb 3.4.0 ships them; its index.js calls the same ones. They are used directly
 * because the package's Session serialises all parameterised queries and hides written rows, and its `connection` leaks
 * settings.
 */
export interface Native {
  /** Queries of one connection run one by one, those of several in parallel. A process may open one path only. */
  CreateConnection(dataPath: string, settings?: string[]): Connection;
  /** The engine aborts the process when a query still runs on the connection. */
  CloseConnection(connection: Connection): void;
  /** Runs on a libuv thread. Parameters are in ClickHouse's text form, and the engine binds them. */
  QueryAsyncConnection(
    connection: Connection,
    sql: string,
    format: string,
    parameters?: Record<string, string>,
  ): Promise<NativeResult>;
  /**
   * The only call that reports written rows. The data argument is always empty, because inline data is unsafe (README).
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

/** A limited number of slots with a queue in order of arrival. The queue and the wait in it are limited too. */
export class Slots {
  readonly #name: string;
  readonly #limit: number;
  readonly #queue: { maxWaiting: number; maxWaitMs: number };
  readonly #waiting: { enter: () => void; refuse: (error: Error) => void }[] = [];
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
    const entry = { enter: () => {}, refuse: (_: Error) => {} };
    const entered = new Promise<void>((resolve, reject) => {
      entry.enter = resolve;
      entry.refuse = reject;
    });
    const timer = setTimeout(() => entry.refuse(this.#tooMany('ran all the time')), this.#queue.maxWaitMs);
    const onAbort = () => entry.refuse(gone());
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.push(entry);
    try {
      await entered;
    } catch (error) {
      const at = this.#waiting.indexOf(entry);
      // An entry that left the queue got a slot in the moment of its refusal, and passes the slot on.
      if (at < 0) this.leave();
      else this.#waiting.splice(at, 1);
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken -= 1;
    else next.enter();
  }

  #tooMany(why: string) {
    const text = `Too many simultaneous queries: ${this.#limit} ${this.#name} run and others ${why}`;
    return failure(202, 'TOO_MANY_SIMULTANEOUS_QUERIES', text);
  }
}

const gone = () => failure(735, 'QUERY_WAS_CANCELLED_BY_CLIENT', 'The client has closed the connection');
