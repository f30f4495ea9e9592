import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Kafka } from 'kafkajs';
import { Registry } from 'prom-client';
import { afterAll, inject } from 'vitest';
import type { Endpoints } from '../../../deploy/local/config.ts';
import { ContainerWriter } from '../../../pipelines/changes/container-writer.ts';
import { type Change, headerBytes } from '../../../pipelines/changes/record.ts';
import { changeSchema } from '../../../pipelines/changes/schema.ts';
import { type BatchHandler, type LoopLimits, makeLoopMetrics } from '../../../pipelines/consumers/batch.ts';
import { type RunningLoop, runLoop } from '../../../pipelines/consumers/loop.ts';
import { makeMaterializeHandler } from '../../../pipelines/consumers/materialize.ts';
import { type ClickHouseClient, makeClickhouse } from '../../../pipelines/runtime/clickhouse.ts';
import { makeKafka } from '../../../pipelines/runtime/kafka/client.ts';
import type { KafkaConnection } from '../../../pipelines/runtime/kafka/connection.ts';
import { type Logger, makeLogger } from '../../../pipelines/runtime/log.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { connectOffsets, type StreamOffsets } from '../../../pipelines/stream/kafka.ts';
import { prepareStream, type SchemaIds } from '../../../pipelines/stream/prepare.ts';
import { type ProduceOutcome, produceEdition } from '../../../pipelines/stream/produce.ts';
import { connectRegistry, type SchemaRegistry } from '../../../pipelines/stream/registry.ts';
import { SchemaArchive } from '../../../pipelines/stream/schema-archive.ts';
import { materializeGroup } from '../../../pipelines/stream/topics.ts';
import { type RecordSchemas, schemaSource, WriterSchemas } from '../../../pipelines/stream/writer-schemas.ts';
import { changesTopic, padronReducido, type RegisterName } from '../../../schemas/registers.ts';
import { checkDigit } from '../../../schemas/ruc.ts';
import { encodeChange } from '../registers/change-records.ts';
import { freshTopicPrefix, migratedClickhouseDatabase, migratedDatabase } from './isolation.ts';

/** Everything that producing and consuming need, under names that no other suite uses. */
export interface StreamHarness {
  pool: Pool;
  clickhouse: ClickHouseClient;
  kafka: Kafka;
  connection: KafkaConnection;
  registry: SchemaRegistry;
  offsets: StreamOffsets;
  prefix: string;
  archiveUrl: string;
  folder: string;
  registers: readonly RegisterName[];
  ids: SchemaIds;
  schemas: RecordSchemas;
  log: Logger;
  /** The environment for a process that shares these names. */
  environment: Record<string, string>;
  close(): Promise<void>;
}

/** Returns a function that makes a harness on the suite's engines. All harnesses are closed after the suite. */
export function streamHarnesses(): () => Promise<StreamHarness> {
  const made: StreamHarness[] = [];
  afterAll(async () => {
    for (const harness of made) await harness.close();
  });
  return async () => {
    const harness = await makeStreamHarness(inject('endpoints'));
    made.push(harness);
    return harness;
  };
}

/**
 * Prepares topics and schemas for all `registers`; `ids` are the schema ids of the first. Another Kafka than the
 * suite's is used by its connection, and processes get its settings from the caller.
 */
export async function makeStreamHarness(
  endpoints: Endpoints,
  registers: readonly RegisterName[] = ['padron_reducido'],
  connection: KafkaConnection = { brokers: endpoints.KAFKA_BROKERS },
): Promise<StreamHarness> {
  const database = await migratedDatabase(endpoints);
  const store = await migratedClickhouseDatabase(endpoints);
  const folder = mkdtempSync(join(tmpdir(), 'padron-stream-'));
  const prefix = freshTopicPrefix();
  const archiveUrl = pathToFileURL(join(folder, 'archive')).href;
  const log = makeLogger('test', 'fatal');
  const pool = makePool(database.DATABASE_URL, 'test', 4);
  const clickhouse = makeClickhouse(store.CLICKHOUSE_URL, 'test', { requestTimeoutMs: 60_000, connections: 4 });
  const kafka = makeKafka(connection, 'test', log);
  const registry = connectRegistry(endpoints.SCHEMA_REGISTRY_URL);
  const prepared = new Map<RegisterName, SchemaIds>();
  for (const register of registers) {
    prepared.set(register, await prepareStream({ kafka, registry, pool, archiveUrl, prefix }, register));
  }
  const source = schemaSource(registry, new SchemaArchive(archiveUrl), prefix);
  const schemas = new WriterSchemas(
    source,
    new Map([...prepared].map(([register, { changes }]) => [register, changes])),
    'as_written',
  );
  const offsets = await connectOffsets(kafka);
  return {
    pool,
    clickhouse,
    kafka,
    connection,
    registry,
    offsets,
    prefix,
    archiveUrl,
    folder,
    registers,
    ids: prepared.get(registers[0]!)!,
    schemas,
    log,
    environment: {
      ...endpoints,
      DATABASE_URL: database.DATABASE_URL,
      CLICKHOUSE_URL: store.CLICKHOUSE_URL,
      KAFKA_TOPIC_PREFIX: prefix,
      ARCHIVE_URL: archiveUrl,
      // A consumer that a test kills leaves its partitions to the next one after 6 s, not after 30 s.
      CONSUMER_SESSION_MS: '6000',
    },
    async close() {
      await offsets.close();
      await clickhouse.close();
      await pool.end();
      await store.drop();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The RUC of an invented company, with a valid check digit. */
export function inventedRuc(number: number): string {
  const ten = String(2_050_000_000 + number);
  return `${ten}${checkDigit(ten)}`;
}

export function inventedRow(nombre: string): Record<string, string> {
  const row = Object.fromEntries(padronReducido.columns.map(({ name }) => [name, '-']));
  return { ...row, nombre, estado: 'ACTIVO', condicion: 'HABIDO', ubigeo: '150101' };
}

/** Writes a change file and the edition's row, as freezing does, and returns the file's path. */
export async function freezeTestEdition(
  harness: StreamHarness,
  edition: number,
  changes: readonly Change[],
  register: RegisterName = 'padron_reducido',
): Promise<string> {
  const metadata = { 'padron.register': register, 'padron.edition': String(edition) };
  const sync = Buffer.alloc(16, edition);
  const writer = new ContainerWriter(harness.folder, `attempt-${edition}`, changeSchema(register), metadata, sync);
  for (const change of changes) writer.append(encodeChange(change, 0, register).subarray(headerBytes));
  const file = writer.finish((sha256) => `${sha256}.avro`);
  const corrects = changes[0]?.corrects ?? null;
  const { rows } = await harness.pool.query<{ id: number }>(
    `INSERT INTO publication (register, sha256, fecha_dato, published_at, state)
     VALUES ($1, $2, '2026-11-20', now(), 'publicando') RETURNING id`,
    [register, `publication-${file.sha256}`],
  );
  await harness.pool.query(
    `INSERT INTO edition (register, number, publication_id, corrects, fecha_dato, published_at, detected_at,
       change_file_sha256, parser_version, columns, changes, counts)
     VALUES ($1, $2, $3, $4, '2026-11-20', now(), now(), $5, 1, '{}', $6, '{}')`,
    [register, edition, corrects === null ? rows[0]!.id : null, corrects, file.sha256, changes.length],
  );
  return file.path;
}

export function produceDependencies(harness: StreamHarness) {
  const { pool, kafka, connection, offsets, registry, prefix, archiveUrl, log } = harness;
  return { pool, kafka, connection, offsets, registry, prefix, archiveUrl, log };
}

/** The changes of a first edition with `count` companies. */
export function baseline(count: number): Change[] {
  return Array.from({ length: count }, (_, seq) => ({
    edition: 1,
    op: 'r',
    seq,
    ruc: inventedRuc(seq),
    before: null,
    after: inventedRow(`EMPRESA ${seq} "Ñ" S.A.C.`),
    line: seq + 2,
    detectedAt: new Date('2026-11-20T08:00:00Z'),
    corrects: null,
  }));
}

/** Starts the materialize consumer in this process and collects its failures. `around` wraps its handler. */
export async function startMaterialize(
  harness: StreamHarness,
  options: {
    around?: (handle: BatchHandler) => BatchHandler;
    limits?: Partial<LoopLimits>;
    schemas?: RecordSchemas;
    /** Feeds another server than the harness's, in the group of this replica. */
    replica?: { name: string; clickhouse: ClickHouseClient };
  } = {},
): Promise<RunningLoop & { failures: Error[]; metrics: Registry }> {
  const metrics = new Registry();
  const failures: Error[] = [];
  const handle = makeMaterializeHandler(options.replica?.clickhouse ?? harness.clickhouse, metrics);
  const loop = await runLoop({
    kafka: harness.kafka,
    group: materializeGroup(harness.prefix, options.replica?.name),
    topics: harness.registers.map((register) => ({ topic: changesTopic(harness.prefix, register), register })),
    schemas: options.schemas ?? harness.schemas,
    handle: options.around?.(handle) ?? handle,
    log: harness.log,
    metrics: makeLoopMetrics(metrics),
    onFailure: (error) => failures.push(error),
    limits: { sessionTimeoutMs: 6_000, heartbeatMs: 500, ...options.limits },
  });
  return { ...loop, failures, metrics };
}

/** Produces a frozen edition completely. */
export function produceTestEdition(
  harness: StreamHarness,
  edition: number,
  changeFile: string,
  register: RegisterName = 'padron_reducido',
): Promise<ProduceOutcome> {
  const input = { register, edition, changeFile };
  return produceEdition(produceDependencies(harness), input, () => {}, new AbortController().signal);
}

/** The current rows in ClickHouse: the cells of each RUC in order, null if the RUC was deleted. */
export async function currentState(harness: StreamHarness): Promise<Map<string, string[] | null>> {
  const result = await harness.clickhouse.query({
    query: `SELECT toString(ruc) AS ruc, is_deleted, row FROM taxpayer ORDER BY ruc, version DESC LIMIT 1 BY ruc`,
    format: 'JSONEachRow',
  });
  const rows = await result.json<{ ruc: string; is_deleted: number; row: string }>();
  return new Map(rows.map(({ ruc, is_deleted, row }) => [ruc, is_deleted ? null : (JSON.parse(row) as string[])]));
}

/** The state that these changes must lead to, applied in order. */
export function expectedState(...editions: readonly (readonly Change[])[]): Map<string, string[] | null> {
  const state = new Map<string, string[] | null>();
  for (const { ruc, after } of editions.flat()) state.set(ruc, after && Object.values(after));
  return new Map([...state].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The changes of the next day: every tenth company changes, every fiftieth disappears, and 20 appear. */
export function nextDay(base: readonly Change[], edition: number): Change[] {
  const changes: Change[] = [];
  const add = (change: Omit<Change, 'edition' | 'seq' | 'detectedAt' | 'corrects'>) =>
    changes.push({
      ...change,
      edition,
      seq: changes.length,
      detectedAt: new Date('2026-11-21T08:00:00Z'),
      corrects: null,
    });
  base.forEach(({ ruc, after }, index) => {
    if (index % 50 === 0) add({ op: 'd', ruc, before: after, after: null, line: null });
    else if (index % 10 === 0)
      add({ op: 'u', ruc, before: after, after: { ...after!, estado: 'BAJA DEFINITIVA' }, line: index });
  });
  for (let index = 0; index < 20; index += 1) {
    const after = inventedRow(`NUEVA ${index}\\/ÑANDÚ E.I.R.L.`);
    add({ op: 'c', ruc: inventedRuc(5_000_000 + index), before: null, after, line: index });
  }
  return changes;
}
