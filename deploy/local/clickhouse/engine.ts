import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { chunksOf } from './body.ts';
import { type Connection, Connections, loadNative, type Native, Slots, setStatement } from './connections.ts';
import type { Limits } from './limits.ts';
import { asFailure, failure } from './reply.ts';
import type { QueryRequest } from './request.ts';
import { Pipes, Runs } from './runs.ts';

type Session = { connection: Connection; busy: boolean; expiry: NodeJS.Timeout | undefined; timeoutMs: number };

/**
 * Keeps sessions by session_id. Each session has its own engine connection, which holds its temporary tables and
 * settings. A session that is idle for too long is closed.
 */
class Sessions {
  readonly #native: Native;
  readonly #connections: Connections;
  readonly #limits: Limits;
  readonly #sessions = new Map<string, Session>();

  constructor(native: Native, connections: Connections, limits: Limits) {
    this.#native = native;
    this.#connections = connections;
    this.#limits = limits;
  }

  /** @throws QueryFailure 373 for a busy session, 372 for a missing one that must exist, 202 for too many sessions */
  async use<T>(request: QueryRequest, run: (connection: Connection) => Promise<T>): Promise<T> {
    const session = await this.#lock(request);
    const { connection } = session;
    try {
      if (request.settings.size > 0)
        await this.#native.QueryAsyncConnection(connection, setStatement(request.settings), 'Null');
      return await run(connection);
    } catch (error) {
      // The rest of a failed query's output would appear at the start of the next result. This extra query removes it.
      await this.#native.QueryAsyncConnection(connection, 'SELECT 1', 'Null').catch(() => undefined);
      throw error;
    } finally {
      await this.#reset(connection, request.settings);
      this.#unlock(request.session!.id, session);
    }
  }

  close(): void {
    for (const id of [...this.#sessions.keys()]) this.#end(id);
  }

  async #lock(request: QueryRequest): Promise<Session> {
    const { id, timeoutMs, mustExist } = request.session!;
    const existing = this.#sessions.get(id);
    if (existing?.busy) throw failure(373, 'SESSION_IS_LOCKED', 'Session is locked by a concurrent client');
    if (existing === undefined && mustExist) throw failure(372, 'SESSION_NOT_FOUND', 'Session not found');
    if (existing === undefined && this.#sessions.size >= this.#limits.maxSessions)
      throw failure(202, 'TOO_MANY_SIMULTANEOUS_QUERIES', `More than ${this.#limits.maxSessions} sessions`);
    const wanted = Math.min(timeoutMs ?? this.#limits.sessionTimeoutMs, this.#limits.maxSessionTimeoutMs);
    const session = existing ?? { connection: undefined!, busy: true, expiry: undefined, timeoutMs: wanted };
    clearTimeout(session.expiry);
    session.busy = true;
    if (existing !== undefined) return existing;
    this.#sessions.set(id, session);
    try {
      session.connection = await this.#connections.open({ database: request.database, settings: new Map() });
      return session;
    } catch (error) {
      this.#sessions.delete(id);
      throw error;
    }
  }

  /**
   * Ends the settings that the request brought. If the session itself had SET one of them, that setting gets its
   * default value too (README).
   */
  async #reset(connection: Connection, settings: ReadonlyMap<string, string>): Promise<void> {
    for (const name of [...settings.keys()].reverse())
      await this.#native.QueryAsyncConnection(connection, `SET ${name} = DEFAULT`, 'Null').catch(() => undefined);
  }

  #unlock(id: string, session: Session): void {
    session.busy = false;
    session.expiry = setTimeout(() => this.#end(id), session.timeoutMs);
  }

  #end(id: string): void {
    const session = this.#sessions.get(id);
    if (session === undefined || session.busy) return;
    clearTimeout(session.expiry);
    this.#sessions.delete(id);
    this.#connections.drop(session);
  }
}

/**
 * Stores insert bodies on disk, because the engine would cut inline data at the first blank line and run the rest as
 * SQL. The folder can be emptied at every start, because a body is acknowledged only after the engine has inserted it.
 */
class Spool {
  readonly folder: string;
  readonly #limits: Limits;
  #count = 0;

  constructor(folder: string, limits: Limits) {
    this.folder = folder;
    this.#limits = limits;
  }

  /** Empties the folder. Bodies that a killed process left behind were never acknowledged. */
  async prepare(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
  }

  /**
   * Stores the whole body and returns the path of its file. When the upload fails (cut connection, bad gzip, too many
   * bytes), the file is removed and the error is thrown, so half a body is never inserted.
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

  /** Passes on the body up to maxBodyBytes. A larger body is left open, so that the client can still get an answer. */
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

/** The engine on one data directory, and everything that queries share. */
export type Engine = {
  native: Native;
  limits: Limits;
  version: string;
  timezone: string;
  connections: Connections;
  sessions: Sessions;
  runs: Runs;
  pipes: Pipes;
  spool: Spool;
  slots: { reads: Slots; streams: Slots; writes: Slots; commands: Slots; uploads: Slots };
  close(): void;
};

export class DirectoryError extends Error {
  override name = 'DirectoryError';
}

/**
 * Opens the data directory, and makes the directory and the database if they are missing.
 * @throws DirectoryError when another process uses the directory, or its path cannot be used
 */
export async function openEngine(dataFolder: string, database: string, limits: Limits): Promise<Engine> {
  const folder = path.resolve(dataFolder);
  // The engine would read these characters in a file's path as a pattern.
  if (/[*?{}[\]'\\\n]/.test(folder))
    throw new DirectoryError(`The data directory's path has one of *?{}[]'\\: ${folder}`);
  const dataPath = path.join(folder, 'engine');
  await mkdir(dataPath, { recursive: true, mode: 0o700 });
  const native = loadNative();
  // This connection stays open until the end, because the engine closes the directory when its last connection closes.
  const keeper = openFirst(native, dataPath, folder);
  // The spool is emptied only now. Before the directory is open, its files may belong to another process.
  const spool = new Spool(path.join(folder, 'spool'), limits);
  await spool.prepare();
  const pipes = new Pipes(spool.folder);
  await pipes.prepare().catch((error: Error) => {
    throw new DirectoryError(`No named pipes can be made with mkfifo in ${spool.folder}: ${error.message}`);
  });
  const ask = async (sql: string) => (await native.QueryAsyncConnection(keeper, sql, 'TSVRaw')).bytes.toString().trim();
  // Without `ENGINE = Atomic` chDB makes another kind of database, on which our migrations do not work.
  await ask(`CREATE DATABASE IF NOT EXISTS \`${database}\` ENGINE = Atomic`);
  const connections = new Connections(native, dataPath, limits.maxIdleConnections);
  const sessions = new Sessions(native, connections, limits);
  const slots = (name: string, limit: number) => new Slots(name, limit, limits);
  return {
    native,
    limits,
    version: await ask('SELECT version()'),
    timezone: await ask('SELECT timezone()'),
    connections,
    sessions,
    runs: new Runs(native, connections, limits.killRepeatMs),
    pipes,
    spool,
    slots: {
      reads: slots('reads', limits.maxReads),
      streams: slots('streamed results', limits.maxStreams),
      writes: slots('inserts', limits.maxWrites),
      commands: slots('commands', limits.maxCommands),
      uploads: slots('uploads', limits.maxConcurrentUploads),
    },
    close: () => {
      sessions.close();
      connections.close();
      native.CloseConnection(keeper);
    },
  };
}

function openFirst(native: Native, dataPath: string, folder: string): Connection {
  try {
    return native.CreateConnection(dataPath);
  } catch {
    throw new DirectoryError(`The data directory cannot be opened, most likely another process uses it: ${folder}`);
  }
}

/**
 * Runs `use` on the session's connection, or on a pooled connection with the request's database and settings. A pooled
 * connection is dropped after an error, because the rest of its output would appear in the next result. It is also
 * dropped when `changesIt` is true, because its settings then no longer fit its key.
 * @throws QueryFailure
 */
export async function onConnection<T>(
  engine: Engine,
  request: QueryRequest,
  changesIt: boolean,
  use: (connection: Connection) => Promise<T>,
): Promise<T> {
  try {
    if (request.session !== undefined) return await engine.sessions.use(request, use);
    const lease = await engine.connections.take(request);
    let clean = false;
    try {
      const result = await use(lease.connection);
      clean = !changesIt;
      return result;
    } finally {
      if (clean) engine.connections.giveBack(lease);
      else engine.connections.drop(lease);
    }
  } catch (error) {
    throw asFailure(error);
  }
}
