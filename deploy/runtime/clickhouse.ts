import { type ClickHouseClient, createClient } from '@clickhouse/client';

export type { ClickHouseClient };

/** Sent with every insert: two of these defaults changed between releases in 2026, so none is left to the server. */
export const insertSettings = {
  async_insert: 0,
  wait_for_async_insert: 1,
  deduplicate_insert: 'disable',
  fsync_after_insert: 1,
} as const;

/** A client of the ClickHouse HTTP interface; the address holds user, password and database. */
export function makeClickhouse(
  url: string,
  name: string,
  options: { requestTimeoutMs: number; connections: number },
): ClickHouseClient {
  return createClient({
    url,
    application: name,
    request_timeout: options.requestTimeoutMs,
    max_open_connections: options.connections,
    compression: { request: false, response: false },
    // Below the server's own idle timeout, so that a socket is never reused while the server closes it.
    keep_alive: { enabled: true, idle_socket_ttl: 2_000 },
  });
}
