import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  type ClickHouseSpan,
  type ClickHouseTracer,
  createClient,
} from '@clickhouse/client';
import { SpanKind, trace } from '@opentelemetry/api';
import { inSpan } from './tracing/span.ts';

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
  options: { requestTimeoutMs: number; connections: number },
): ClickHouseClient {
  return createClient({
    url,
    application: name,
    request_timeout: options.requestTimeoutMs,
    max_open_connections: options.connections,
    compression: { request: false, response: false },
    // The client's own log writes queries with their parameters, RUCs among them, to the console.
    log: { level: ClickHouseLogLevel.OFF },
    tracer: clickhouseTracer,
    // Below the server's own idle timeout, so that a socket is never reused while the server closes it.
    keep_alive: { enabled: true, idle_socket_ttl: 2_000 },
  });
}

/** The client reports errors with texts that quote queries and their RUCs: inSpan() gives the span the error's class instead. */
const silentSpan: ClickHouseSpan = { setAttributes() {}, setStatus() {}, recordException() {}, end() {} };

/**
 * The client's queries as spans within the span that waits for them, with the id that ClickHouse's own query log has. A query
 * outside of any span (a readiness check, a gauge) gets none.
 */
const clickhouseTracer: ClickHouseTracer = {
  startActiveSpan(name, options, work) {
    // The client's stream span covers the reading of an answer, which outlives this call.
    if (trace.getActiveSpan() === undefined || name.endsWith('.stream')) return work(silentSpan);
    const done = inSpan(name, { kind: SpanKind.CLIENT, attributes: options.attributes ?? {} }, async (span) =>
      work({ ...silentSpan, setAttributes: (attributes) => void span.setAttributes(attributes) }),
    );
    // All of the client's other operations return promises.
    return done as ReturnType<typeof work>;
  },
};
