import { mkdir } from 'node:fs/promises';
import { Runtime } from '@temporalio/worker';
import { z } from 'zod';
import { openArchive } from '../pipelines/archive/open.ts';
import { sourceBlock, sourcesOf } from '../pipelines/registers/settings.ts';
import { Holding, holdingLimits, type ReplicaClient } from '../pipelines/replicas/holding.ts';
import { readBuild } from '../pipelines/runtime/build.ts';
import {
  clickhouseAccess,
  clickhouseCheck,
  makeClickhouse,
  pingClickhouse,
  replicasOf,
} from '../pipelines/runtime/clickhouse.ts';
import {
  archiveBlock,
  clickhouseBlock,
  databaseBlock,
  kafkaBlock,
  processBlock,
  readConfiguration,
  temporalBlock,
  tracingBlock,
  webhookBlock,
  webhookEgressPolicy,
  wholeNumber,
} from '../pipelines/runtime/config.ts';
import { makeEgressDispatcher } from '../pipelines/runtime/egress/dispatcher.ts';
import { EngineWatch, lookEveryMs } from '../pipelines/runtime/engines/watch.ts';
import { startHealth, starting } from '../pipelines/runtime/health.ts';
import { type ConnectedKafka, connectKafka, processLimitMs } from '../pipelines/runtime/kafka/connect.ts';
import { kafkaConnection } from '../pipelines/runtime/kafka/connection.ts';
import { Lifecycle, startRepeating } from '../pipelines/runtime/lifecycle.ts';
import { makeLogger } from '../pipelines/runtime/log.ts';
import { mailBlock, makeMailer } from '../pipelines/runtime/mail.ts';
import { makeMetrics, measureCertificates, measureEngines, measurePool } from '../pipelines/runtime/metrics.ts';
import { SchemaLevel } from '../pipelines/runtime/migrations/level.ts';
import { databaseCheck, makePool, type Pool } from '../pipelines/runtime/postgres.ts';
import { watchServer } from '../pipelines/runtime/server-watch.ts';
import { makeLazyTemporal, temporalAccess, temporalCheck } from '../pipelines/runtime/temporal.ts';
import { startTracing } from '../pipelines/runtime/tracing/start.ts';
import { connectOffsets } from '../pipelines/stream/kafka.ts';
import { checkStreams } from '../pipelines/stream/prepare.ts';
import { connectRegistry, registryAccess, registryCheck } from '../pipelines/stream/registry.ts';
import { changesTopic, padronReducido } from '../schemas/registers.ts';
import { addBackupMetric } from './backups.ts';
import { bundleWorkflows, temporalLogger } from './bundle.ts';
import { makeDeliveryWorker } from './delivery/worker.ts';
import { defaultSchedules } from './publication/schedule.ts';
import { defaultPublicationSettings, makePublicationWorker, type PublicationEngines } from './publication/worker.ts';
import { startReplicaRounds } from './replicas.ts';
import { connectNative, followCertificates } from './temporal-connection.ts';
import { retentionBlock, retentionRuleOf, startUpkeep } from './upkeep.ts';

/** Settings of the worker process, which runs the publication worker, the delivery worker and the upkeep tasks. */
const schema = z.object({
  ...processBlock.shape,
  ...databaseBlock.shape,
  ...clickhouseBlock.shape,
  ...kafkaBlock.shape,
  ...temporalBlock.shape,
  ...archiveBlock.shape,
  ...webhookBlock.shape,
  ...sourceBlock.shape,
  ...mailBlock.shape,
  ...retentionBlock.shape,
  ...tracingBlock.shape,
  /** When the official sites are asked for new publications, as a cron expression in America/Lima. */
  FETCH_CRON: z.string().min(1).default(defaultSchedules.cron),
  /** When the state in ClickHouse is compared with the archive, as a cron expression in America/Lima. */
  RECONCILE_CRON: z.string().min(1).default(defaultSchedules.reconcileCron),
  /** Days after which raw publications are removed, except those of heads or in quarantine. Unset: never. */
  ARCHIVE_PUBLICATION_DAYS: wholeNumber(1, 36_500).optional(),
  /** Id of this build of the delivery code (workflows/delivery/README.md). If unset, any worker takes any task. */
  DELIVERY_BUILD_ID: z.string().min(1).max(100).optional(),
  /** How often the sweeper starts workflows for unfinished publications, editions and corrections in PostgreSQL. */
  SWEEP_INTERVAL_MS: wholeNumber(1_000, 3_600_000).default(30_000),
  /**
   * How long an edition that a first ClickHouse replica holds waits for the others before it is served without them. A
   * replica that is left out is not asked until it has caught up, and notices wait a minute longer for it once.
   */
  CLICKHOUSE_REPLICA_WAIT_MS: wholeNumber(0, 600_000).default(15_000),
  /** How long a publication's step may go on after the process was asked to stop. */
  STOP_GRACE_MS: wholeNumber(0, 600_000).default(2_000),
});

const stopMs = 10_000;
const queryTimeoutMs = 130_000;

// The mailer is made here only to report a missing SMTP_FROM before anything is opened. It does not connect.
const configuration = readConfiguration(schema, (parsed) => makeMailer(parsed));
const build = readBuild();
const log = makeLogger('worker', configuration.LOG_LEVEL);
const stopTracing = await startTracing('worker', configuration, log);
const lifecycle = new Lifecycle(log, configuration.STOP_DEADLINE_MS);

await lifecycle.run(async () => {
  lifecycle.onStop('traces', stopTracing);
  // Install this before any connection, so that Temporal writes to our log. `shutdownSignals` is empty, because
  // `lifecycle` handles SIGTERM and SIGINT.
  Runtime.install({ logger: temporalLogger(log), shutdownSignals: [] });
  const metrics = makeMetrics('worker');
  measureCertificates(metrics, configuration);
  const health = await startHealth(lifecycle, metrics, configuration);
  log.info({ ...build, healthPort: health.port }, 'listening');
  const pool = makePool(configuration.DATABASE_URL, 'padron-worker', configuration.DATABASE_POOL_SIZE);
  lifecycle.onStop('postgresql', () => pool.end());
  lifecycle.onStop('postgresql watch', watchServer(pool, configuration.DATABASE_URL, 'padron-worker', log));
  const replicas = replicasOf(configuration).map((replica) => {
    const options = { requestTimeoutMs: queryTimeoutMs, connections: 4 };
    const clickhouse = makeClickhouse(replica.target, 'padron-worker', options);
    lifecycle.onStop(`clickhouse ${replica.name}`, () => clickhouse.close());
    return { ...replica, clickhouse };
  });
  // Each replica's schema is looked at by its own consumers and by the API.
  const only = configuration.CLICKHOUSE_REPLICAS === undefined ? replicas[0]!.clickhouse : null;
  const temporal = temporalAccess(configuration.TEMPORAL_ADDRESS, configuration);
  const client = makeLazyTemporal(temporal, configuration.TEMPORAL_NAMESPACE);
  lifecycle.onStop('temporal client', () => client.connection.close());
  const engines = new EngineWatch(
    [
      databaseCheck(configuration.DATABASE_URL, pool),
      registryCheck(registryAccess(configuration)),
      // One of several replicas may refuse us. It does not serve then, and the worker goes on with the others.
      ...(only === null ? [] : [clickhouseCheck(replicas[0]!.target, only)]),
      temporalCheck(temporal, client),
    ],
    log,
  );
  await engines.requireUsable(['PostgreSQL', 'Temporal']);
  lifecycle.onStop(
    'engines',
    startRepeating('look at the engines', lookEveryMs, log, () => engines.look()),
  );
  const schemaLevel = new SchemaLevel(pool, only);
  health.readyWhen(async () => (await schemaLevel.problem()) ?? starting);
  await schemaLevel.reached((problem) => log.warn({ problem }, 'waiting for the migrations of this release'));
  const connection = await connectNative(temporal);
  lifecycle.onStop('temporal connection', () => connection.close());

  const kafka = await connectKafka(kafkaConnection(configuration), 'padron-worker', log, processLimitMs);
  lifecycle.onStop('kafka check', kafka.close);

  const [workflowBundle, dependencies] = await Promise.all([
    bundleWorkflows(log),
    publicationDependencies({ pool, replicas, client, metrics }, kafka),
  ]);
  const { clickhouse, holding, stream } = dependencies;
  const { offsets, prefix } = stream;
  measurePool(metrics, pool);
  measureEngines(metrics, {
    postgres: () => pool.query('SELECT 1'),
    clickhouse: () => holding?.serving() ?? pingClickhouse(clickhouse),
    kafka: () => offsets.ends(changesTopic(prefix, padronReducido.name)),
    temporal: () => client.workflowService.getSystemInfo({}),
  });
  const namespace = configuration.TEMPORAL_NAMESPACE;
  const publication = await makePublicationWorker(connection, dependencies, {
    namespace,
    workflowBundle,
    schedule: { cron: configuration.FETCH_CRON, reconcileCron: configuration.RECONCILE_CRON },
    sweepEveryMs: configuration.SWEEP_INTERVAL_MS,
    graceMs: configuration.STOP_GRACE_MS,
    stopMs,
  });
  const delivery = await makeDeliveryWorker(connection, {
    pool,
    client,
    namespace,
    keyRing: configuration.WEBHOOK_SECRET_KEYS,
    policy: webhookEgressPolicy(configuration),
    version: build.version,
    buildId: configuration.DELIVERY_BUILD_ID,
    log,
    metrics,
    workflowBundle,
  });
  const workers = [publication, delivery];
  const runs = workers.map((worker) => worker.run());
  for (const run of runs) run.catch((error) => lifecycle.fail(error));
  // Registered before the workers' stop, because it closes their connections.
  const native = [...publication.workers, ...delivery.workers];
  lifecycle.onStop('certificates of temporal', followCertificates(temporal, native, log));
  // Both stop at the same time. One after the other, their waits could be longer than the deadline of the whole stop.
  lifecycle.onStop('workers', async () => {
    for (const worker of workers) worker.stop();
    await Promise.allSettled(runs);
  });
  addBackupMetric(metrics, pool);
  const rule = retentionRuleOf(configuration);
  lifecycle.onStop('upkeep', startUpkeep({ pool, log, metrics, mailer: makeMailer(configuration), rule }));
  health.readyWhen(async () => {
    if (!publication.isRunning()) return 'the worker does not poll yet';
    const refusal = engines.problem();
    if (refusal !== null) return refusal;
    await pool.query('SELECT 1');
    return (await schemaLevel.problem()) ?? publication.problem() ?? kafka.problem();
  });
});

async function publicationDependencies(
  engines: Pick<PublicationEngines, 'client' | 'metrics'> & { pool: Pool; replicas: readonly ReplicaClient[] },
  { kafka }: ConnectedKafka,
): Promise<PublicationEngines> {
  const registry = connectRegistry(registryAccess(configuration));
  const prefix = configuration.KAFKA_TOPIC_PREFIX;
  const { pool, replicas } = engines;
  await checkStreams({ kafka, registry, pool, archiveUrl: configuration.ARCHIVE_URL, prefix });
  const offsets = await connectOffsets(kafka);
  lifecycle.onStop('kafka', () => offsets.close());
  // The official sites use these ports and may use plain HTTP. Webhooks have other rules (webhookEgressPolicy).
  const policy = { ...webhookEgressPolicy(configuration), allowedPorts: [80, 443], allowHttp: true };
  const dispatcher = makeEgressDispatcher(policy, {
    connectTimeoutMs: 15_000,
    headersTimeoutMs: 60_000,
    // The download aborts earlier than this by its own limit (`stallTimeoutMs`).
    bodyIdleTimeoutMs: 120_000,
    connectionsPerOrigin: 2,
    keepAliveMs: 4_000,
  });
  lifecycle.onStop('egress', () => dispatcher.destroy());
  let holding: Holding | undefined;
  if (configuration.CLICKHOUSE_REPLICAS !== undefined) {
    const limits = { ...holdingLimits, waitMs: configuration.CLICKHOUSE_REPLICA_WAIT_MS };
    holding = new Holding({ pool, offsets, prefix, replicas, log, limits });
    lifecycle.onStop('replicas', startReplicaRounds(holding, pool, engines.metrics, log));
  }
  await mkdir(configuration.WORK_DIR, { recursive: true });
  return {
    ...engines,
    clickhouse: replicas[0]!.clickhouse,
    ...(holding && { holding }),
    stream: {
      ...{ pool, kafka, connection: kafkaConnection(configuration), offsets, registry, prefix, log },
      archiveUrl: configuration.ARCHIVE_URL,
    },
    archive: await openArchive(configuration.ARCHIVE_URL, configuration.WORK_DIR),
    clickhouseTarget: clickhouseAccess(configuration),
    workDir: configuration.WORK_DIR,
    access: { dispatcher, policy, userAgent: configuration.SOURCE_USER_AGENT },
    sources: sourcesOf(configuration),
    log,
    settings: { ...defaultPublicationSettings, publicationDays: configuration.ARCHIVE_PUBLICATION_DAYS ?? null },
  };
}
