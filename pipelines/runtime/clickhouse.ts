import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { clickhouseTracer, type Tracing } from './tracing/tracing.ts';

export type { ClickHouseClient };

/**
 * Sent with every insert: two of these defaults changed between releases in 2026, so none is left to the server. That an
 * acknowledged insert is on the disk (fsync_after_insert, fsync_part_directory) is a setting of the tables:
 * schemas/clickhouse.
 */
export const insertSettings = {
  async_insert: 0,
  wait_for_async_insert: 1,
  deduplicate_insert: 'disable',
} as const;

/** For inserts of whole batches beside look-ups: one thread, which gives way to those that answer people. */
export const bulkInsertSettings = {
  ...insertSettings,
  max_threads: 1,
  max_insert_threads: '1',
  os_thread_priority: '15',
} as const;

/** A client of the ClickHouse HTTP interface; the address holds user, password and database. */
export function makeClickhouse(
  url: string,
  name: string,
  options: { requestTimeoutMs: number; connections: number; tracing?: Tracing },
): ClickHouseClient {
  return createClient({
    url,
    application: name,
    request_timeout: options.requestTimeoutMs,
    max_open_connections: options.connections,
    compression: { request: false, response: false },
    // The client's own log writes queries with their parameters, RUCs among them, to the console.
    log: { level: ClickHouseLogLevel.OFF },
    ...(options.tracing && { tracer: clickhouseTracer(options.tracing) }),
    // Below the server's own idle timeout, so that a socket is never reused while the server closes it.
    keep_alive: { enabled: true, idle_socket_ttl: 2_000 },
  });
}
