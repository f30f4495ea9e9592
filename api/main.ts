import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import type { Client } from '@temporalio/client';
import { DeltaFiles, defaultDeltaLimits } from '../pipelines/deltas/files.ts';
import { readBuild } from '../pipelines/runtime/build.ts';
import { readConfiguration, webhookEgressPolicy } from '../pipelines/runtime/config.ts';
import { resolverFor } from '../pipelines/runtime/egress/policy.ts';
import { checkTargetUrl, resolveTarget } from '../pipelines/runtime/egress/target.ts';
import { EngineWatch, lookEveryMs } from '../pipelines/runtime/engines/watch.ts';
import { answerHealth, pathOf, startHealth, stopping } from '../pipelines/runtime/health.ts';
import { Lifecycle, startRepeating } from '../pipelines/runtime/lifecycle.ts';
import { makeLineLogger, makeLogger } from '../pipelines/runtime/log.ts';
import { makeMetrics, measureCertificates, measureEngines, measurePool } from '../pipelines/runtime/metrics.ts';
import { Notifications } from '../pipelines/runtime/notifications.ts';
import { databaseCheck, makePool } from '../pipelines/runtime/postgres.ts';
import { makeWebhookSecret, sealSecret } from '../pipelines/runtime/secrets.ts';
import { watchServer } from '../pipelines/runtime/server-watch.ts';
import { makeLazyTemporal, temporalAccess, temporalCheck } from '../pipelines/runtime/temporal.ts';
import { startTracing } from '../pipelines/runtime/tracing/start.ts';
import { eventChannel } from '../pipelines/watch/events.ts';
import { type LastKnownRows, makeLastKnownRows } from '../pipelines/watch/watchers.ts';
import { startRecovering } from '../pipelines/webhooks/recoveries.ts';
import { makeWake } from '../pipelines/webhooks/work.ts';
import { readUbigeoCatalogue, ubigeoListUrl } from '../schemas/ubigeo.ts';
import { makeIdentify, makeIdentifyReader } from './accounts/callers.ts';
import { makeApp } from './app.ts';
import { shippedCalendar } from './calendar/data/shipped.ts';
import { makeCalendarSource, readAdditions } from './calendar/store.ts';
import { makeCatalogue, makePastEditions } from './catalogue.ts';
import { apiConfiguration, checkApiConfiguration } from './config.ts';
import type { ApiDependencies } from './dependencies.ts';
import { Downloads } from './editions/downloads.ts';
import { EventStreams } from './event-stream/streams.ts';
import { startRemovingExpired } from './expired.ts';
import { makeIdempotentAnswers } from './idempotency/answers.ts';
import { Meter } from './metering/meter.ts';
import { minuteChannels, SharedMinuteLimits } from './metering/minute-limits.ts';
import { listenForOperators } from './operator-console.ts';
import { makeAudit } from './queries/audit.ts';
import { makeFindRecord } from './queries/current-rows.ts';
import { makeFindHistory } from './queries/history.ts';
import { makeUnknownUbigeoCounter } from './queries/record.ts';
import { makeFindRecordOnDay } from './queries/record-on-day.ts';
import { makeReadStatus, statusEveryMs } from './queries/register-status.ts';
import { makeFindCompanies, makeServedRows } from './search/find-companies.ts';
import { makePositions } from './search/rank.ts';
import { makeNameStore, makeRequireNames } from './search/store.ts';
import { makeReadiness, serve } from './serve.ts';
import { addReplicaGauge, openStores } from './stores/stores.ts';
import { supplierThresholdsOf } from './supplier/bars.ts';
import { makeFindSupplier } from './supplier/check.ts';
import { makeFindRecentChanges } from './supplier/recent-changes.ts';

/** Longest time of one SQL statement. All statements of the API are short, and requests wait for them. */
const statementTimeoutMs = 15_000;
/** Pause between two removals of expired answers. Answers are kept for a day or for years, so no removal is urgent. */
const expiredEveryMs = 60_000;

const config = readConfiguration(apiConfiguration, checkApiConfiguration);
const keyRing = config.WEBHOOK_SECRET_KEYS;

const log = makeLogger('api', config.LOG_LEVEL);
const stopTracing = await startTracing('api', config, log);
await new Lifecycle(log, config.STOP_DEADLINE_MS).run(async (lifecycle) => {
  lifecycle.onStop('traces', stopTracing);
  const metrics = makeMetrics('api');
  measureCertificates(metrics, config);
  const health = await startHealth(lifecycle, metrics, config);
  const requestLog = makeLineLogger('api', config.LOG_LEVEL);
  lifecycle.onStop('request log', requestLog.stop);
  const pool = makePool(config.DATABASE_URL, 'padron-api', config.DATABASE_POOL_SIZE, statementTimeoutMs);
  lifecycle.onStop('postgres', () => pool.end());
  lifecycle.onStop('postgres watch', watchServer(pool, config.DATABASE_URL, 'padron-api', log));
  const stores = await openStores({ config, pool, log, lifecycle });
  const { taxpayers, changes } = stores;
  measurePool(metrics, pool);
  // Temporal is not among them: a wake-up that does not reach it is made up by the worker's sweeper.
  measureEngines(metrics, {
    postgres: () => pool.query('SELECT 1'),
    clickhouse: stores.ping,
  });

  const temporal = temporalOf(lifecycle);
  const engines = new EngineWatch(
    [
      databaseCheck(config.DATABASE_URL, pool),
      ...stores.checks,
      ...(temporal === null ? [] : [temporalCheck(temporal.access, temporal.client)]),
    ],
    log,
  );
  // The calendar is answered without any engine, so a wrong setting does not end this process.
  lifecycle.onStop(
    'engines',
    startRepeating('look at the engines', lookEveryMs, log, () => engines.look(), 'at_once'),
  );
  const notifications = new Notifications(pool, [...minuteChannels, eventChannel], log);
  lifecycle.onStop('notifications', () => notifications.stop());
  notifications.start();
  const minuteLimits = new SharedMinuteLimits(pool, notifications);
  const meter = new Meter(pool, metrics, log);
  const catalogue = makeCatalogue(pool, new Date(), stores.replicas);
  if (stores.replicas) addReplicaGauge(metrics, stores.replicas, catalogue);
  const past = makePastEditions(pool, catalogue);
  const servedEdition = async () => (await catalogue.snapshot()).padron_reducido?.edition.number ?? 0;
  const names = makeNameStore(stores.askForSearch, servedEdition);
  const recordDependencies = {
    ubigeos: readUbigeoCatalogue(readFileSync(ubigeoListUrl, 'utf8')),
    countUnknownUbigeo: makeUnknownUbigeoCounter(metrics),
  };
  const findHistory = makeFindHistory({ catalogue, past, taxpayers, changes });
  const identify = makeIdentify(pool, config.SANDBOX_TOKEN);
  const calendar = makeCalendarSource(
    shippedCalendar,
    () => readAdditions(pool),
    { pollMs: config.CALENDAR_POLL_MS, startWaitMs: 2_000 },
    log,
  );
  lifecycle.onStop('calendar', calendar.stop);
  await calendar.start();
  lifecycle.onStop('expired answers', startRemovingExpired(pool, expiredEveryMs, log));
  const wake = makeWakeOne(temporal?.client);
  lifecycle.onStop('recoveries', startRecovering(pool, wake, log));
  const now = () => new Date();
  const readStatus = makeReadStatus(pool, now);
  // The status is read although nobody asks, so that a young one is in memory when PostgreSQL goes away.
  const keepStatus = () => readStatus().catch(() => {});
  lifecycle.onStop('status', startRepeating('read the status', statusEveryMs, log, keepStatus, 'at_once'));
  const streams = new EventStreams(pool, notifications, log);
  const deltas = openDeltas(lifecycle);
  const downloads = new Downloads();
  const app = makeApp({
    log,
    requestLog: requestLog.log,
    metrics,
    baseUrl: config.PUBLIC_BASE_URL ?? '',
    pool,
    minuteLimits,
    proxyHops: config.TRUSTED_PROXY_HOPS,
    meter,
    identify,
    identifyReader: makeIdentifyReader(identify),
    calendar: calendar.current,
    sandboxToken: config.SANDBOX_TOKEN,
    now,
    catalogue,
    readStatus,
    taxpayers,
    findRecord: makeFindRecord({ ...recordDependencies, catalogue, taxpayers }),
    findRecordOnDay: makeFindRecordOnDay({ ...recordDependencies, past, taxpayers, changes }),
    ubigeos: recordDependencies.ubigeos,
    findCompanies: makeFindCompanies({ names, taxpayers: makeServedRows(taxpayers, catalogue) }),
    requireNames: makeRequireNames(names),
    positions: makePositions(config.AUDIT_HMAC_KEY),
    findHistory,
    recordAnswers: makeAudit(pool, config.AUDIT_HMAC_KEY),
    idempotentAnswers: makeIdempotentAnswers(pool, keyRing, {
      leaseMs: config.IDEMPOTENCY_LEASE_MS,
      keptHours: config.IDEMPOTENCY_KEPT_HOURS,
    }),
    findSupplier: makeFindSupplier({ ...recordDependencies, catalogue, taxpayers }),
    findRecentChanges: makeFindRecentChanges({ past, changes, findHistory }),
    supplierThresholds: supplierThresholdsOf(config),
    checkTarget: makeCheckTarget(),
    makeSecret: makeWebhookSecret,
    sealSecret: (webhookId, secret) => sealSecret(keyRing, webhookId, secret),
    wake,
    streams,
    deltas,
    downloads,
  });

  const answer = app.callback();
  // A load balancer that sees only this port learns from /healthz that the process stops.
  const listener: RequestListener = (request, response) =>
    pathOf(request) === '/healthz'
      ? answerHealth(response, lifecycle.isStopping ? stopping : null)
      : void answer(request, response);
  const serving = await serve(listener, {
    host: config.HTTP_HOST,
    port: config.HTTP_PORT,
    baseUrl: config.PUBLIC_BASE_URL ?? '',
    log: requestLog.log,
  });
  lifecycle.onStop('http', serving.stop);
  const shared = { pool, log, requestLog: requestLog.log, metrics, minuteLimits, now: () => new Date() };
  const baseUrl = config.PUBLIC_BASE_URL ?? '';
  const lastKnownRows: LastKnownRows = (...asked) =>
    stores.askForSearch('last known rows', (clickhouse) => makeLastKnownRows(clickhouse)(...asked));
  await listenForOperators(lifecycle, config, { ...shared, baseUrl, lastKnownRows, wake }, temporal?.client ?? null);
  // The part registered last stops first. Streams must stop before the server, whose stop waits for open streams.
  streams.start();
  lifecycle.onStop('downloads', async () => downloads.stop());
  lifecycle.onStop('event streams', () => streams.stop());
  // Streams stop after the drain: their clients connect again at once, and must reach another process.
  lifecycle.onStop('drain', () => serving.drain(config.STOP_DRAIN_MS));
  health.readyWhen(makeReadiness({ engines, catalogue, stores, required: config.REQUIRED_REGISTERS }));
  log.info({ ...readBuild(), port: serving.port, healthPort: health.port }, 'listening');
  // Without this, the first search would wait some seconds for the names. If it fails, the first search tries again.
  names.load().catch((error: unknown) => log.warn({ err: error }, 'the names of companies were not read at the start'));
});

// The Temporal client connects at its first use, so that the API starts and answers look-ups while Temporal is down.
function temporalOf(lifecycle: Lifecycle) {
  if (config.TEMPORAL_ADDRESS === undefined) return null;
  const access = temporalAccess(config.TEMPORAL_ADDRESS, config);
  const client = makeLazyTemporal(access, config.TEMPORAL_NAMESPACE);
  lifecycle.onStop('temporal', () => client.connection.close());
  return { access, client };
}

function openDeltas(lifecycle: Lifecycle): DeltaFiles | null {
  const { ARCHIVE_URL: archiveUrl, WORK_DIR: workDir, DELTA_WAIT_MS: waitMs } = config;
  if (archiveUrl === undefined || workDir === undefined) {
    log.info('no ARCHIVE_URL or no WORK_DIR: files of changes are not served');
    return null;
  }
  const deltas = new DeltaFiles({ archiveUrl, workDir, log, limits: { ...defaultDeltaLimits, waitMs } });
  lifecycle.onStop('delta files', () => deltas.stop());
  return deltas;
}

function makeWakeOne(temporal: Client | undefined): ApiDependencies['wake'] {
  if (temporal === undefined) return async () => {};
  const wake = makeWake(temporal, { inParallel: 1, deadlineMs: 2_000 });
  return (webhookId) =>
    wake([webhookId]).catch((error: unknown) =>
      log.warn({ err: error, webhook: webhookId }, 'a wake-up did not arrive'),
    );
}

function makeCheckTarget(): ApiDependencies['checkTarget'] {
  const policy = webhookEgressPolicy(config);
  const resolve = resolverFor(policy);
  return async (text) => {
    const target = checkTargetUrl(text, policy);
    if (!target.ok) return target;
    const resolution = await resolveTarget(target.url, policy, resolve);
    return resolution.ok ? { ok: true, url: target.url.href } : resolution;
  };
}
