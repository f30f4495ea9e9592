import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Connections } from './connections.ts';
import { asFailure } from './errors.ts';
import type { Limits } from './limits.ts';
import { type Connection, loadNative, type Native } from './native.ts';
import { Pipes } from './pipes.ts';
import type { QueryRequest } from './request.ts';
import { Runs } from './runs.ts';
import { Sessions } from './sessions.ts';
import { Slots } from './slots.ts';
import { Spool } from './spool.ts';

/** The engine on one data directory, with all that queries share. */
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
 * Opens the data directory, makes it and the database if they are missing.
 * @throws DirectoryError when another process has it, or its path cannot be used
 */
export async function openEngine(dataFolder: string, database: string, limits: Limits): Promise<Engine> {
  const folder = path.resolve(dataFolder);
  // The engine reads such characters in a file's path as patterns.
  if (/[*?{}[\]'\\\n]/.test(folder))
    throw new DirectoryError(`The data directory's path has one of *?{}[]'\\: ${folder}`);
  const dataPath = path.join(folder, 'engine');
  await mkdir(dataPath, { recursive: true, mode: 0o700 });
  const native = loadNative();
  // Held until the end: the engine leaves the directory with its last connection.
  const keeper = openFirst(native, dataPath, folder);
  // Only now: before the directory is ours, the folder's files may be another process's.
  const spool = new Spool(path.join(folder, 'spool'), limits);
  await spool.prepare();
  const pipes = new Pipes(spool.folder);
  await pipes.prepare().catch((error: Error) => {
    throw new DirectoryError(`No named pipes can be made with mkfifo in ${spool.folder}: ${error.message}`);
  });
  const ask = async (sql: string) => (await native.QueryAsyncConnection(keeper, sql, 'TSVRaw')).bytes.toString().trim();
  // The engine's own default kind of database is none that migrations can be written for.
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
 * Runs `use` on a connection set up as the request says: the session's own, or one of the pool, which is dropped after any
 * error (its leftover output would begin the next result) and when `use` has changed it.
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
