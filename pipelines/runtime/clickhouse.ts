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
 * Settings of every insert. Two of these defaults changed between releases in 2026, so none is left to the server. The tables
 * themselves (schemas/clickhouse) make an acknowledged insert durable, by fsync_after_insert and fsync_part_directory.
 */
export const insertSettings = {
  async_insert: 0,
  wait_for_async_insert: 1,
  deduplicate_insert: 'disable',
} as const;

/** Settings of inserts of whole batches: one thread, with a lower priority than look-ups, so that people do not wait. */
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
    // Shorter than the server's idle timeout, so that no socket is reused while the server closes it.
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
