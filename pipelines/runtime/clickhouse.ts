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
 * Settings of every insert. ClickHouse changed the defaults of two of these settings in 2026, so all are set here. An
 * acknowledged insert is durable, because the tables set fsync_after_insert and fsync_part_directory
 * (schemas/clickhouse).
 */
export const insertSettings = {
  async_insert: 0,
  wait_for_async_insert: 1,
  deduplicate_insert: 'disable',
} as const;

/** Settings of inserts of whole batches: one thread with a lower priority than look-ups, so that people do not wait. */
export const bulkInsertSettings = {
  ...insertSettings,
  max_threads: 1,
  max_insert_threads: '1',
  os_thread_priority: '15',
} as const;

/** Makes a client of ClickHouse's HTTP interface. @param url holds user, password and database */
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
    // The client's own log would write queries with their parameters, such as RUCs, to the console.
    log: { level: ClickHouseLogLevel.OFF },
    tracer: clickhouseTracer,
    // The idle time is shorter than the server's, so that no socket is reused while the server closes it.
    keep_alive: { enabled: true, idle_socket_ttl: 2_000 },
  });
}

/** Ignores the client's errors, whose texts quote queries and RUCs. `inSpan` records the error's class instead. */
const silentSpan: ClickHouseSpan = { setAttributes() {}, setStatus() {}, recordException() {}, end() {} };

/**
 * Makes a span for each query of the client, inside the active span. The span holds the id that the query has in
 * ClickHouse's own query log. A query outside of any span, such as a readiness check, gets no span.
 */
const clickhouseTracer: ClickHouseTracer = {
  startActiveSpan(name, options, work) {
    // The client's span `….stream` is left out. It covers the reading of an answer, which ends later than this call.
    if (trace.getActiveSpan() === undefined || name.endsWith('.stream')) return work(silentSpan);
    const done = inSpan(name, { kind: SpanKind.CLIENT, attributes: options.attributes ?? {} }, async (span) =>
      work({ ...silentSpan, setAttributes: (attributes) => void span.setAttributes(attributes) }),
    );
    // `work` returns a promise for every operation of the client other than `….stream`, so this is the type that it
    // returns.
    return done as ReturnType<typeof work>;
  },
};
