import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Connection, Connections, loadNative, type Native, Slots } from './connections.ts';
import type { Limits } from './limits.ts';
import { Pipes, Runs } from './runs.ts';

/** The engine on one data directory, and everything that queries share. */
export type Engine = {
  native: Native;
  limits: Limits;
  version: string;
  timezone: string;
  connections: Connections;
  runs: Runs;
  pipes: Pipes;
  /** The folder in which insert bodies and result pipes are made. */
  spool: string;
  slots: { reads: Slots; streams: Slots; writes: Slots; commands: Slots; uploads: Slots };
  close(): void;
};

/**
 * Opens the data directory. Makes the directory and the database if they are missing.
 * @throws Error when another process uses the directory, or its path cannot be used
 */
export async function openEngine(dataFolder: string, database: string, limits: Limits): Promise<Engine> {
  const folder = path.resolve(dataFolder);
  // Paths of files are written into SQL without escapes. The engine reads `*?{}[]` in a path as a pattern. A quote, a
  // backslash or a line end could change the SQL.
  if (/[*?{}[\]'\\\n]/.test(folder)) throw new Error(`The data directory's path has one of *?{}[]'\\: ${folder}`);
  const dataPath = path.join(folder, 'engine');
  await mkdir(dataPath, { recursive: true, mode: 0o700 });
  const native = loadNative();
  // This connection stays open until the end, because the engine closes the directory when its last connection closes.
  const keeper = openFirst(native, dataPath, folder);
  // The data directory is open now, so no other process uses its spool. A killed process may have left insert bodies in
  // the spool. Nobody needs these bodies, because their inserts were never acknowledged.
  const spool = path.join(folder, 'spool');
  await rm(spool, { recursive: true, force: true });
  await mkdir(spool, { mode: 0o700 });
  const pipes = new Pipes(spool);
  await pipes.makeStock().catch((error: Error) => {
    throw new Error(`No named pipes can be made with mkfifo in ${spool}: ${error.message}`);
  });
  const ask = async (sql: string) => (await native.QueryAsyncConnection(keeper, sql, 'TSVRaw')).bytes.toString().trim();
  // Without `ENGINE = Atomic` chDB makes another kind of database, on which our migrations do not work.
  await ask(`CREATE DATABASE IF NOT EXISTS \`${database}\` ENGINE = Atomic`);
  const connections = new Connections(native, dataPath, limits.maxIdleConnections);
  const slots = (name: string, limit: number) => new Slots(name, limit, limits);
  return {
    native,
    limits,
    version: await ask('SELECT version()'),
    timezone: await ask('SELECT timezone()'),
    connections,
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
      connections.close();
      native.CloseConnection(keeper);
    },
  };
}

function openFirst(native: Native, dataPath: string, folder: string): Connection {
  try {
    return native.CreateConnection(dataPath);
  } catch {
    throw new Error(`The data directory cannot be opened, most likely another process uses it: ${folder}`);
  }
}
