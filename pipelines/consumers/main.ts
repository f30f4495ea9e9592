import { z } from 'zod';
import { changesTopic, padronReducido, registerNames } from '../../schemas/registers.ts';
import { replicasThatMayAnswer } from '../replicas/catalogue.ts';
import { readBuild } from '../runtime/build.ts';
import { clickhouseCheck, makeClickhouse, pingClickhouse, replicasOf } from '../runtime/clickhouse.ts';
import {
  archiveBlock,
  clickhouseBlock,
  databaseBlock,
  kafkaBlock,
  processBlock,
  readConfiguration,
  temporalBlock,
  tracingBlock,
  wholeNumber,
} from '../runtime/config.ts';
import { EngineWatch, lookEveryMs } from '../runtime/engines/watch.ts';
import { startHealth, starting } from '../runtime/health.ts';
import { connectKafka, processLimitMs } from '../runtime/kafka/connect.ts';
import { kafkaConnection } from '../runtime/kafka/connection.ts';
import { Lifecycle, startRepeating } from '../runtime/lifecycle.ts';
import { makeLogger } from '../runtime/log.ts';
import { makeMetrics, measureCertificates, measureEngines, measurePool } from '../runtime/metrics.ts';
import { SchemaLevel } from '../runtime/migrations/level.ts';
import { databaseCheck, makePool } from '../runtime/postgres.ts';
import { watchServer } from '../runtime/server-watch.ts';
import { makeLazyTemporal, temporalAccess, temporalCheck } from '../runtime/temporal.ts';
import { startTracing } from '../runtime/tracing/start.ts';
import { connectOffsets } from '../stream/kafka.ts';
import { checkStreams } from '../stream/prepare.ts';
import { connectRegistry, registryAccess, registryCheck } from '../stream/registry.ts';
import { SchemaArchive } from '../stream/schema-archive.ts';
import { materializeGroup, watchGroup } from '../stream/topics.ts';
import { type RowColumns, schemaSource, WriterSchemas } from '../stream/writer-schemas.ts';
import { makeLastKnownRows } from '../watch/watchers.ts';
import { makeWake } from '../webhooks/work.ts';
import { type LoopOptions, loopLimits, makeLoopMetrics } from './batch.ts';
import { type RunningLoop, runLoop } from './loop.ts';
import { makeMaterializeHandler } from './materialize.ts';
import { beginReplica, fedReplicaOf, guardStore, lastKnownRowsOf } from './replica.ts';
import { makeShown, waitForGroup } from './wait-for-group.ts';
import { makeWatchHandler, makeWatchMetrics, watchLimits } from './watch.ts';

const outputs = ['materialize', 'watch'] as const;

const consumersConfiguration = processBlock
  .extend(databaseBlock.shape)
  .extend(clickhouseBlock.shape)
  .extend(kafkaBlock.shape)
  .extend(temporalBlock.shape)
  .extend(tracingBlock.shape)
  .extend({
    ARCHIVE_URL: archiveBlock.shape.ARCHIVE_URL,
    /** The outputs that this process runs, separated by commas. Each output is a consumer group of its own. */
    CONSUMERS: z
      .string()
      .default(outputs.join(','))
      .transform((text) => text.split(','))
      .pipe(z.array(z.enum(outputs)).min(1)),
    /**
     * After this time without a heartbeat, Kafka gives a process's partitions to another process. A busy process may
     * send no heartbeat for some seconds, so a shorter time could take its partitions away.
     */
    CONSUMER_SESSION_MS: wholeNumber(6_000, 300_000).default(loopLimits.sessionTimeoutMs),
  });

type Output = Pick<LoopOptions, 'group' | 'schemas' | 'handle' | 'limits'>;

const config = readConfiguration(consumersConfiguration, fedReplicaOf);
const log = makeLogger('consumers', config.LOG_LEVEL);
const stopTracing = await startTracing('consumers', config, log);
await new Lifecycle(log, config.STOP_DEADLINE_MS).run(async (lifecycle) => {
  lifecycle.onStop('traces', stopTracing);
  const metrics = makeMetrics('consumers');
  measureCertificates(metrics, config);
  const prefix = config.KAFKA_TOPIC_PREFIX;
  const loops: RunningLoop[] = [];
  const health = await startHealth(lifecycle, metrics, config);
  log.info({ ...readBuild(), healthPort: health.port }, 'listening');

  const pool = makePool(config.DATABASE_URL, 'padron-consumers', config.DATABASE_POOL_SIZE);
  lifecycle.onStop('postgres', () => pool.end());
  lifecycle.onStop('postgres watch', watchServer(pool, config.DATABASE_URL, 'padron-consumers', log));
  const fed = fedReplicaOf(config);
  const hasSeveral = config.CLICKHOUSE_REPLICAS !== undefined;
  const clients = new Map(
    replicasOf(config).map(({ name, target }) => {
      const client = makeClickhouse(target, 'padron-consumers', { requestTimeoutMs: 60_000, connections: 4 });
      lifecycle.onStop(`clickhouse ${name}`, () => client.close());
      return [name, client];
    }),
  );
  const clickhouse = clients.get(fed)!;
  const access = registryAccess(config);
  const temporalAt = temporalAccess(config.TEMPORAL_ADDRESS, config);
  const temporal = makeLazyTemporal(temporalAt, config.TEMPORAL_NAMESPACE);
  lifecycle.onStop('temporal', () => temporal.connection.close());
  const engines = new EngineWatch(
    [
      databaseCheck(config.DATABASE_URL, pool),
      registryCheck(access),
      clickhouseCheck(replicasOf(config).find(({ name }) => name === fed)!.target, clickhouse),
      temporalCheck(temporalAt, temporal),
    ],
    log,
  );
  await engines.requireUsable(['PostgreSQL']);
  lifecycle.onStop(
    'engines',
    startRepeating('look at the engines', lookEveryMs, log, () => engines.look()),
  );
  const schemaLevel = new SchemaLevel(pool, clickhouse);
  health.readyWhen(async () => (await schemaLevel.problem()) ?? starting);
  await schemaLevel.reached((problem) => log.warn({ problem }, 'waiting for the migrations of this release'));
  const { kafka, problem, close } = await connectKafka(
    kafkaConnection(config),
    'padron-consumers',
    log,
    processLimitMs,
  );
  lifecycle.onStop('kafka check', close);
  const offsets = await connectOffsets(kafka);
  lifecycle.onStop('kafka offsets', () => offsets.close());
  measurePool(metrics, pool);
  measureEngines(metrics, {
    postgres: () => pool.query('SELECT 1'),
    clickhouse: () => pingClickhouse(clickhouse),
    kafka: () => offsets.ends(changesTopic(prefix, padronReducido.name)),
  });

  const registry = connectRegistry(access);
  const ids = await checkStreams({ kafka, registry, pool, archiveUrl: config.ARCHIVE_URL, prefix });
  const currentIds = new Map(registerNames.map((register) => [register, ids[register].changes]));
  const archive = new SchemaArchive(config.ARCHIVE_URL);
  const schemas = (rows: RowColumns) => new WriterSchemas(schemaSource(registry, archive, prefix), currentIds, rows);

  const groupsOf = (replicas: readonly string[]) => replicas.map((name) => materializeGroup(prefix, name));
  const makeOutput: Record<(typeof outputs)[number], () => Promise<Output>> = {
    materialize: async () => {
      const handle = makeMaterializeHandler(clickhouse, metrics);
      const group = materializeGroup(prefix, fed);
      if (!hasSeveral) return { group, schemas: schemas('as_written'), handle };
      const replica = { pool, kafka, clickhouse, prefix, name: fed, log };
      const store = await beginReplica(replica, (reason) => health.readyWhen(() => reason));
      return { group, schemas: schemas('as_written'), handle: guardStore(handle, clickhouse, store) };
    },
    watch: async () => {
      return {
        group: watchGroup(prefix),
        schemas: schemas('today'),
        handle: waitForGroup(
          makeWatchHandler({
            pool,
            lastKnownRows: hasSeveral ? lastKnownRowsOf(pool, clients) : makeLastKnownRows(clickhouse),
            shown: makeShown(offsets, async () => groupsOf(hasSeveral ? await replicasThatMayAnswer(pool) : [fed])),
            wake: makeWake(temporal, { inParallel: 8, deadlineMs: 5_000 }),
            log,
            metrics: makeWatchMetrics(metrics),
            limits: watchLimits,
          }),
          offsets,
          groupsOf([...clients.keys()]),
        ),
        // `watch` makes no large inserts, so small fetches are enough.
        limits: { maxBytesPerPartition: 4 * 1024 * 1024, maxBytesPerFetch: 4 * 1024 * 1024, concurrentPartitions: 2 },
      };
    },
  };

  // They stop at the same time. One after the other, their waits could be longer than the deadline of the whole stop.
  lifecycle.onStop('loops', async () => void (await Promise.all(loops.map((loop) => loop.stop()))));
  const loopMetrics = makeLoopMetrics(metrics);
  const sessionTimeoutMs = config.CONSUMER_SESSION_MS;
  for (const name of new Set(config.CONSUMERS)) {
    const output = await makeOutput[name]();
    const loop = await runLoop({
      kafka,
      topics: registerNames.map((register) => ({ register, topic: changesTopic(prefix, register) })),
      log: log.child({ output: name }),
      metrics: loopMetrics,
      onFailure: (error) => lifecycle.fail(error),
      areBrokersAway: async () => (await problem()) !== null,
      ...output,
      limits: { sessionTimeoutMs, heartbeatMs: sessionTimeoutMs / 10, ...output.limits },
    });
    loops.push(loop);
  }
  health.readyWhen(async () => {
    const waits =
      engines.problem() ??
      (await schemaLevel.problem()) ??
      loops.map((loop) => loop.ready()).find((one) => one !== null) ??
      null;
    // A loop that lost its broker knows only that it has left the group. The check knows why.
    return waits === null ? null : ((await problem()) ?? waits);
  });
});
