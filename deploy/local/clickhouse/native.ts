import { createRequire } from 'node:module';
import path from 'node:path';

/**
 * The engine's own entry points, as chdb 3.4.0 ships them (its index.js calls the same ones). Used directly because the
 * package's Session serialises all parameterised queries, hides written rows, and its `connection` leaks settings.
 */
export interface Native {
  /** A connection is serial; several to one path run in parallel. One process may have one path only. */
  CreateConnection(dataPath: string, settings?: string[]): Connection;
  /** Only when nothing runs on it: otherwise the engine aborts the process. */
  CloseConnection(connection: Connection): void;
  /** Runs on a libuv thread. Parameters are ClickHouse's own text form, bound by the engine. */
  QueryAsyncConnection(
    connection: Connection,
    sql: string,
    format: string,
    parameters?: Record<string, string>,
  ): Promise<NativeResult>;
  /** The only call that reports written rows. The data argument is always empty here: inline data is unsafe (README). */
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

/** @throws when the package has no engine for this platform (it says which) */
export function loadNative(): Native {
  const require = createRequire(import.meta.url);
  const loader = path.join(path.dirname(require.resolve('chdb/package.json')), 'dist', 'loader.js');
  return (require(loader) as { loadNative(): Native }).loadNative();
}
