import { Gauge, type Registry } from 'prom-client';
import { LostData } from '../../pipelines/replay/lost-data.ts';
import {
  type ClickHouseClient,
  clickhouseCheck,
  makeClickhouse,
  pingClickhouse,
  type ReplicaServer,
  replicasOf,
} from '../../pipelines/runtime/clickhouse.ts';
import type { EngineCheck } from '../../pipelines/runtime/engines/check.ts';
import { type Lifecycle, within } from '../../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import { SchemaLevel } from '../../pipelines/runtime/migrations/level.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { Catalogue } from '../catalogue.ts';
import type { ApiConfiguration } from '../config.ts';
import { makeTaxpayers, type Taxpayers } from '../queries/look-up.ts';
import { makeRegisterChanges, pastGate, type RegisterChanges } from '../queries/register-changes.ts';
import { LostDataWatch } from './lost-data-watch.ts';
import { type AskClickhouse, askOnly, ReplicaSet } from './replicas.ts';

/**
 * Connections for ClickHouse queries that nothing else limits: readiness checks, histories, and checks that a register
 * has rows. Further ones of these queries wait for a connection.
 */
const otherConnections = 4;

/** Limit of the question whether a replica's tables are too short. */
const shortMs = 2_000;

/** What this process reads in ClickHouse: from the only server, or from several replicas. */
export interface Stores {
  taxpayers: Taxpayers;
  changes: RegisterChanges;
  /** Asks a server for what searches need. */
  askForSearch: AskClickhouse;
  /** With several replicas, only PostgreSQL's: each replica's schema is looked at before it is asked. */
  schemaLevel: SchemaLevel;
  /** What look-ups lack now, for /readyz; null if nothing. */
  problem(): Promise<string | null>;
  /** Asks whether the only server takes our settings. A replica that does not is found by the questions to it. */
  checks: readonly EngineCheck[];
  /** Rejects if no server answers. */
  ping: () => Promise<unknown>;
  /** Only with several replicas. */
  replicas?: ReplicaSet<Server>;
}

interface Dependencies {
  config: ApiConfiguration;
  pool: Pool;
  log: Logger;
  lifecycle: Lifecycle;
}

/** The clients of one server, and what asks through them. */
interface Server {
  clickhouse: ClickHouseClient;
  search: ClickHouseClient;
  whole: ClickHouseClient;
  taxpayers: Taxpayers;
  changes: RegisterChanges;
}

export async function openStores(dependencies: Dependencies): Promise<Stores> {
  const addresses = replicasOf(dependencies.config);
  if (dependencies.config.CLICKHOUSE_REPLICAS === undefined) return openOnly(addresses[0]!, dependencies);
  return openSeveral(addresses, dependencies);
}

function openOnly(address: ReplicaServer, dependencies: Dependencies): Stores {
  const { pool, log, lifecycle } = dependencies;
  const { clickhouse, search, whole, taxpayers, changes } = openServer(address, dependencies);
  const lostData = new LostDataWatch(new LostData({ pool, clickhouse: whole }), log);
  lifecycle.onStop('lost data', lostData.start());
  const schemaLevel = new SchemaLevel(pool, clickhouse);
  return {
    schemaLevel,
    checks: [clickhouseCheck(address.target, clickhouse)],
    ping: () => pingClickhouse(clickhouse),
    taxpayers,
    changes,
    askForSearch: askOnly(search),
    async problem() {
      const answer = await clickhouse.ping();
      if (answer.success) return (await schemaLevel.problem()) ?? (await lostData.problem());
      lostData.forget();
      return 'ClickHouse does not answer';
    },
  };
}

async function openSeveral(addresses: readonly ReplicaServer[], dependencies: Dependencies): Promise<Stores> {
  const { pool, log, lifecycle } = dependencies;
  const servers = addresses.map((address) => {
    const store = openServer(address, dependencies);
    const lostData = new LostData({ pool, clickhouse: store.whole, replica: address.name });
    const level = new SchemaLevel(null, store.clickhouse);
    return { name: address.name, store, probe: openProbe(address, lifecycle), lostData, level };
  });
  // A replica that is behind lacks rows, and nobody asks it. So nothing is compared.
  const replicas: ReplicaSet<Server> = new ReplicaSet(servers, log, async (name) => {
    const { lostData, level } = servers.find((server) => server.name === name)!;
    const older = await within(shortMs, level.problem());
    if (older !== null) return older;
    const isShort = replicas.isHolder(name) && (await within(shortMs, lostData.isShort()));
    return isShort ? 'it has fewer rows than what is served' : null;
  });
  lifecycle.onStop('replicas', await replicas.start());
  const watches = servers.map(({ name, lostData, level }) => {
    const problem = async (stop?: AbortSignal) => {
      if (!replicas.isHolder(name)) return null;
      const loss = (await level.problem()) ?? (await lostData.problem(stop));
      replicas.noteLoss(name, loss);
      return loss;
    };
    const isShort = async () => replicas.isHolder(name) && (await within(shortMs, lostData.isShort()));
    const watch = new LostDataWatch({ isShort, problem }, log.child({ replica: name }));
    lifecycle.onStop(`lost data of ${name}`, watch.start());
    return watch;
  });
  const ask = replicas.ask.bind(replicas);
  return {
    replicas,
    schemaLevel: new SchemaLevel(pool, null),
    checks: [],
    async ping() {
      const problem = replicas.problem();
      if (problem !== null) throw new Error(problem);
    },
    askForSearch: (key, work) => ask(key, (server, name) => work(server.search, name)),
    async problem() {
      await Promise.all(watches.map((watch) => watch.problem()));
      return replicas.problem();
    },
    taxpayers: {
      find: (ruc) => ask(ruc, ({ taxpayers }) => taxpayers.find(ruc)),
      findMany: (rucs) => Promise.all(rucs.map((ruc) => ask(ruc, ({ taxpayers }) => taxpayers.find(ruc)))),
      anyKeyOf: (code) => ask(String(code), ({ taxpayers }) => taxpayers.anyKeyOf(code)),
    },
    changes: {
      earlierRows: (ruc) => ask(ruc, ({ changes }) => changes.earlierRows(ruc)),
      keys: (ruc) => ask(ruc, ({ changes }) => changes.keys(ruc)),
      read: (ruc, keys) => ask(ruc, ({ changes }) => changes.read(ruc, keys)),
    },
  };
}

function openServer({ name, target }: ReplicaServer, { config, lifecycle }: Dependencies): Server {
  const lookupLimits = {
    waitMs: config.LOOKUP_WAIT_MS,
    maxKeys: config.LOOKUP_MAX_KEYS,
    inFlight: config.LOOKUP_IN_FLIGHT,
  };
  const clickhouse = makeClickhouse(target, 'padron-api', {
    requestTimeoutMs: 5_000,
    // Queries for current rows, for earlier rows (`pastGate`), and `otherConnections` for all others.
    connections: config.LOOKUP_IN_FLIGHT + pastGate.inFlight + otherConnections,
  });
  // At most two searches run at the same time and the others wait, so that many searches cannot delay look-ups.
  const search = makeClickhouse(target, 'padron-api-search', { requestTimeoutMs: 3_000, connections: 2 });
  // A comparison reads whole columns of each table. It never waits for look-ups or searches, nor they for it.
  const whole = makeClickhouse(target, 'padron-api-whole', { requestTimeoutMs: 130_000, connections: 1 });
  for (const client of [clickhouse, search, whole]) lifecycle.onStop(`clickhouse ${name}`, () => client.close());
  const taxpayers = makeTaxpayers(clickhouse, lookupLimits);
  const changes = makeRegisterChanges(clickhouse, lookupLimits);
  return { clickhouse, search, whole, taxpayers, changes };
}

function openProbe({ name, target }: ReplicaServer, lifecycle: Lifecycle): ClickHouseClient {
  const probe = makeClickhouse(target, 'padron-api-probe', { requestTimeoutMs: 1_000, connections: 1 });
  lifecycle.onStop(`probe of ${name}`, () => probe.close());
  return probe;
}

/** Exports which replicas this process asks. The catalogue is read first, since a process without callers reads it never. */
export function addReplicaGauge(metrics: Registry, replicas: ReplicaSet<Server>, catalogue: Catalogue): void {
  new Gauge({
    name: 'padron_api_replica_asked',
    help: '1 if this process asks this ClickHouse replica',
    labelNames: ['replica'],
    registers: [metrics],
    async collect() {
      await catalogue.snapshot().catch(() => null);
      for (const { name, isAsked } of replicas.states()) this.set({ replica: name }, Number(isAsked));
    },
  });
}
