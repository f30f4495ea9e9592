import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { startChain } from '../../deploy/local/demo/chain.ts';
import { makePool } from '../../pipelines/runtime/postgres.ts';
import { liftLimits, startApi } from '../support/api/process.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { conclude } from './conclude.ts';
import { ExtraProcess, ReplicaHost } from './replicas/host.ts';
import { type ReplicaChaosOptions, type ReplicaChaosReport, Scene } from './replicas/scene.ts';

/** An edition of which one replica falls behind waits so long for it, and its notices a minute longer. */
const replicaWaitMs = 3_000;

/**
 * Two ClickHouse replicas, a consumers process for each, and two API processes under a steady load, while editions keep
 * coming. One replica after the other is killed with -9; then one loses its disk, and a new empty one takes its place.
 */
async function runReplicaChaos(options: ReplicaChaosOptions, log: (line: string) => void): Promise<ReplicaChaosReport> {
  const directory = mkdtempSync(path.join(tmpdir(), 'padron-replicas-'));
  const stops: (() => Promise<unknown>)[] = [async () => rmSync(directory, { recursive: true, force: true })];
  try {
    return await runIn(directory, options, stops, log);
  } finally {
    // One that fails must not keep the others from stopping.
    for (const stop of stops.reverse()) await stop().catch((error) => log(`a part did not stop: ${error}`));
  }
}

async function runIn(
  directory: string,
  options: ReplicaChaosOptions,
  stops: (() => Promise<unknown>)[],
  log: (line: string) => void,
): Promise<ReplicaChaosReport> {
  const hosts = [];
  for (const name of ['a', 'b']) {
    const host = await ReplicaHost.start(name, path.join(directory, name));
    stops.push(() => host.kill());
    hosts.push(host);
  }
  const [a, b] = hosts as [ReplicaHost, ReplicaHost];
  const settings = {
    CLICKHOUSE_REPLICAS: hosts.map(({ name, url }) => `${name}=${url}`).join(','),
    CLICKHOUSE_REPLICA: 'a',
    CLICKHOUSE_REPLICA_WAIT_MS: String(replicaWaitMs),
    REQUIRED_REGISTERS: 'padron_reducido',
  };
  const chain = await startChain({
    directory: path.join(directory, 'chain'),
    log,
    environment: settings,
    addresses: { CLICKHOUSE_URL: a.url },
  });
  stops.push(() => chain.stop());
  const pool = makePool(chain.stack.endpoints.DATABASE_URL, 'padron-chaos', 3);
  stops.push(() => pool.end());
  await liftLimits(pool);
  const consumers = new ExtraProcess(
    'pipelines/consumers/main.ts',
    {
      ...chain.environment,
      CLICKHOUSE_REPLICA: 'b',
      HEALTH_PORT: '0',
      CONSUMER_SESSION_MS: '6000',
    },
    log,
  );
  consumers.start();
  stops.push(() => consumers.kill());
  const api = await startApi({ ...chain.environment, HTTP_PORT: '0', HEALTH_PORT: '0' });
  stops.push(() => api.stop());
  const urls = [chain.product.apiUrl, api.url];
  return await new Scene({ directory, options, log, chain, pool, urls, a, b, consumers }).run();
}

/**
 * `--rows N` (20,000, at least 5,000), `--rate R` (2,000 look-ups a second). Two ClickHouse replicas and two API
 * processes answer while editions keep coming. Each replica is killed with -9 and comes back, then one loses its disk
 * and a new one joins. No answer may be wrong or older than it says, and errors may come only within a second of a kill.
 * Takes 6 to 10 minutes. Exit code 0 only if nothing differs.
 */
export async function run(args: string[]): Promise<void> {
  const startedAt = Date.now();
  const sizes = { rows: numberOption(args, 'rows', 20_000, 5_000), perSecond: numberOption(args, 'rate', 2_000) };
  const report = await runReplicaChaos({ ...sizes, callers: 32, measureSeconds: 15 }, console.log);
  console.table(report.steps);
  const { seconds: loaded, ...counts } = report.load;
  console.table({ ...counts, perSecond: Math.round(counts.answered / loaded), notices: report.notices });
  for (const { replicas, perSecond, cores, cpuMicroseconds } of report.fullSpeed) {
    const cpu = Object.entries(cpuMicroseconds).map(([name, used]) => `${name} ${used}`);
    const machine = `${cores.toFixed(2)} cores of ${availableParallelism()}`;
    console.log(`at full speed, replicas ${replicas}: ${perSecond} look-ups a second with ${machine}`);
    console.log(`  CPU µs for one look-up: ${cpu.join(', ')}`);
  }
  conclude(report.faults, startedAt);
}
