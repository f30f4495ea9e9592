import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  type ClickHouseSpan,
  type ClickHouseTracer,
  createClient,
} from '@clickhouse/client';
import { SpanKind, trace } from '@opentelemetry/api';
import { z } from 'zod';
import type { ClickhouseConfiguration } from './config.ts';
import type { EngineCheck } from './engines/check.ts';
import { shownAddress } from './engines/failure.ts';
import { FileAgent } from './engines/tls.ts';
import { defaultReplica } from './replica-settings.ts';
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

/** Where ClickHouse is and how we use it. It is plain data, because child processes get it. It holds the password. */
export const clickhouseAccessSchema = z.object({
  url: z.string(),
  caFile: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
  isSequential: z.boolean().default(false),
  isReplicated: z.boolean().default(false),
  /** Engine of a database that a migration makes. Without it the server decides. */
  databaseEngine: z.string().optional(),
});
export type ClickhouseAccess = z.output<typeof clickhouseAccessSchema>;

/** A plain address stands for a server that needs nothing more. It holds user, password and database. */
export type ClickhouseTarget = ClickhouseAccess | string;

/** @param url address of one of several servers, which share all other settings */
export function clickhouseAccess(config: ClickhouseConfiguration, url = config.CLICKHOUSE_URL): ClickhouseAccess {
  return {
    url,
    caFile: config.CLICKHOUSE_CA_FILE,
    username: config.CLICKHOUSE_USERNAME,
    password: config.CLICKHOUSE_PASSWORD,
    isSequential: config.CLICKHOUSE_SEQUENTIAL_CONSISTENCY,
    isReplicated: config.CLICKHOUSE_REPLICATED,
    databaseEngine: config.CLICKHOUSE_DATABASE_ENGINE,
  };
}

/** One ClickHouse server that holds a copy of the registers. */
export interface ReplicaServer {
  name: string;
  target: ClickhouseTarget;
}

/** All ClickHouse servers of the installation: those of CLICKHOUSE_REPLICAS, or the only one. */
export function replicasOf(config: ClickhouseConfiguration): ReplicaServer[] {
  const { CLICKHOUSE_REPLICAS: replicas } = config;
  if (replicas === undefined) return [{ name: defaultReplica, target: clickhouseAccess(config) }];
  return replicas.map(({ name, url }) => ({ name, target: clickhouseAccess(config, url) }));
}

export function clickhouseAccessOf(target: ClickhouseTarget): ClickhouseAccess {
  return typeof target === 'string' ? { url: target, isSequential: false, isReplicated: false } : target;
}

/**
 * Settings of every query, for servers with their own replication. We never ran them, because the ClickHouse of the
 * tests has no replication.
 * - A read waits until the server has all that was acknowledged. Servers of our own do this only if one insert at a
 *   time waits for its quorum (`insert_quorum_parallel`).
 * - An insert that reached no quorum fails, and its writer repeats it.
 */
export function replicationSettings({
  isSequential,
  isReplicated,
}: Pick<ClickhouseAccess, 'isSequential' | 'isReplicated'>) {
  return {
    ...(isSequential ? ({ select_sequential_consistency: '1' } as const) : {}),
    ...(isReplicated ? ({ insert_quorum: 'auto', insert_quorum_parallel: 0 } as const) : {}),
  };
}

/** Makes a client of ClickHouse's HTTP interface. It reads its CA file again for every new connection. */
export function makeClickhouse(
  target: ClickhouseTarget,
  name: string,
  options: { requestTimeoutMs: number; connections: number },
): ClickHouseClient {
  const access = clickhouseAccessOf(target);
  const keepAlive = { keepAlive: true, maxSockets: options.connections };
  return createClient({
    url: access.url,
    ...(access.username === undefined ? {} : { username: access.username, password: access.password ?? '' }),
    application: name,
    request_timeout: options.requestTimeoutMs,
    max_open_connections: options.connections,
    clickhouse_settings: replicationSettings(access),
    compression: { request: false, response: false },
    // The client's own log would write queries with their parameters, such as RUCs, to the console.
    log: { level: ClickHouseLogLevel.OFF },
    tracer: clickhouseTracer,
    // The idle time is shorter than the server's, so that no socket is reused while the server closes it.
    keep_alive: { enabled: true, idle_socket_ttl: 2_000 },
    ...(access.url.startsWith('https:') ? { http_agent: new FileAgent({ ca: access.caFile }, keepAlive) } : {}),
  });
}

/** Asks for the server's version. */
export function clickhouseCheck(target: ClickhouseTarget, client: ClickHouseClient): EngineCheck {
  return {
    engine: 'ClickHouse',
    address: shownAddress(clickhouseAccessOf(target).url),
    async ask() {
      const result = await client.query({ query: 'SELECT version() AS version', format: 'JSONEachRow' });
      return (await result.json<{ version: string }>())[0]?.version ?? null;
    },
  };
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

/** Rejects if ClickHouse does not answer. The client itself returns the error instead. */
export async function pingClickhouse(clickhouse: ClickHouseClient): Promise<void> {
  const answer = await clickhouse.ping();
  if (!answer.success) throw answer.error;
}
