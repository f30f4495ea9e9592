import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Chain, padron, startChain } from '../../deploy/local/demo/chain.ts';
import { waitUntil } from '../../deploy/local/demo/output.ts';
import { type PublishedDay, writeDay } from '../../deploy/local/demo/register/day.ts';
import { populationOf } from '../../deploy/local/demo/register/population.ts';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { liftLimits, type RunningApi, startApi } from '../support/api/process.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { conclude } from './conclude.ts';
import { ExtraProcess, ReplicaHost } from './replica-host.ts';
import { type LoadCounts, ReplicaLoad } from './replica-load.ts';

export interface ReplicaChaosOptions {
  rows: number;
  /** Look-ups per second that are asked for. */
  perSecond: number;
  callers: number;
  /** How long each of the two measurements of throughput takes. */
  measureSeconds: number;
}

export interface ReplicaStep {
  step: string;
  seconds: number;
  /** The newest day that was served at the step's end. */
  day: number;
}

export interface ReplicaChaosReport {
  steps: ReplicaStep[];
  load: LoadCounts & { seconds: number };
  perSecond: { twoReplicas: number; oneReplica: number };
  notices: number;
  faults: string[];
}

const days = 40;
const seed = 20_261_129;
const dayMs = 86_400_000;
/** An edition of which one replica falls behind waits so long for it, and its notices a minute longer. */
const replicaWaitMs = 3_000;
const joinMs = 240_000;

/**
 * Two ClickHouse replicas, a consumers process for each, and two API processes under a steady load, while editions keep
 * coming. One replica after the other is killed with -9; then one loses its disk, and a new empty one takes its place.
 */
export async function runReplicaChaos(
  options: ReplicaChaosOptions,
  log: (line: string) => void,
): Promise<ReplicaChaosReport> {
  const directory = mkdtempSync(path.join(tmpdir(), 'padron-replicas-'));
  const stops: (() => Promise<unknown>)[] = [async () => rmSync(directory, { recursive: true, force: true })];
  try {
    return await runIn(directory, options, stops, log);
  } finally {
    for (const stop of stops.reverse()) await stop();
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
  return await new Scene({ directory, options, log, chain, pool, api, a, b, consumers }).run();
}

interface SceneParts {
  directory: string;
  options: ReplicaChaosOptions;
  log: (line: string) => void;
  chain: Chain;
  pool: Pool;
  api: RunningApi;
  a: ReplicaHost;
  b: ReplicaHost;
  consumers: ExtraProcess;
}

class Scene {
  readonly #parts: SceneParts;
  readonly #population;
  readonly #dates: Date[];
  readonly #load: ReplicaLoad;
  readonly #steps: ReplicaStep[] = [];
  readonly #faults: string[] = [];
  #day = 0;
  #startedAt = Date.now();

  constructor(parts: SceneParts) {
    this.#parts = parts;
    const rows = parts.options.rows;
    this.#population = populationOf(rows, seed, { inserted: 20, deleted: 20, updated: 70 });
    const today = Math.floor(Date.now() / 1_000) * 1_000 - 6 * 3_600_000;
    this.#dates = Array.from({ length: days }, (_, at) => new Date(today - (days - 1 - at) * dayMs));
    this.#load = this.#newLoad();
  }

  async run(): Promise<ReplicaChaosReport> {
    const { chain, a, b, consumers, options } = this.#parts;
    await this.#publish();
    await this.#step('both replicas serve', () => this.#untilServing('a', 'b'));
    await this.#watchChanging();
    const twoReplicas = await this.#measure();
    const loadAt = performance.now();
    const asking = this.#load.run(this.#urls(), chain.token, options.perSecond, options.callers);
    await this.#step('three editions', () => this.#publishMany(3));
    await this.#step('b is killed', () => this.#kill(b));
    await this.#step('two editions without b', () => this.#publishMany(2));
    await this.#step('b is back and serves by itself', async () => {
      await b.restart();
      await this.#untilServing('a', 'b');
    });
    await this.#step('a is killed', () => this.#kill(a));
    await this.#step('an edition without a', () => this.#publishMany(1));
    await this.#step('a is back and serves by itself', async () => {
      await a.restart();
      await this.#untilServing('a', 'b');
    });
    await this.#step('b is killed with its consumers, and its disk deleted', async () => {
      await this.#kill(b);
      await consumers.kill();
      b.loseDisk();
    });
    await this.#step('two editions without b', () => this.#publishMany(2));
    await this.#step('a new empty b joins, while editions go on, and serves by itself', async () => {
      await b.restart();
      await padron(['migrate', '--replica', 'b'], chain.environment);
      consumers.start();
      await Promise.all([this.#untilServing('a', 'b'), this.#publishMany(1)]);
    });
    await this.#step('a is killed: the new b answers alone', async () => {
      await this.#kill(a);
      await sleep(5_000);
    });
    this.#load.stop();
    await asking;
    const seconds = (performance.now() - loadAt) / 1_000;
    const oneReplica = await this.#measure();
    await a.restart();
    await this.#step('a serves again', () => this.#untilServing('a', 'b'));
    await this.#verify();
    return this.#report(seconds, { twoReplicas, oneReplica });
  }

  #report(seconds: number, perSecond: ReplicaChaosReport['perSecond']): ReplicaChaosReport {
    const { received } = this.#parts.chain;
    const { counts, examples } = this.#load;
    const early = received.filter(({ sawNewState }) => !sawNewState);
    const faults = [
      ...this.#faults,
      ...examples,
      ...early.map(({ evento, ruc }) => `a look-up at its notice still showed the old state: ${evento} of ${ruc}`),
    ];
    if (counts.answered === 0) faults.push('no look-up was answered');
    if (received.length === 0) faults.push('no notice arrived');
    return { steps: this.#steps, load: { ...counts, seconds }, perSecond, notices: received.length, faults };
  }

  async #step(step: string, work: () => Promise<unknown>): Promise<void> {
    const began = Date.now();
    await work();
    const seconds = Math.round((Date.now() - began) / 100) / 10;
    const { answered, wrong, old, errors } = this.#load.counts;
    this.#steps.push({ step, seconds, day: this.#day });
    const at = Math.round((Date.now() - this.#startedAt) / 1_000);
    this.#parts.log(`${at} s: ${step} (${answered} answers, ${wrong} wrong, ${old} old, ${errors} errors)`);
  }

  async #kill(host: ReplicaHost): Promise<void> {
    this.#load.noteKill();
    await host.kill();
  }

  async #publishMany(count: number): Promise<void> {
    for (let done = 0; done < count; done += 1) await this.#publish();
  }

  /** Publishes the next day through the whole pipeline, until its notices have arrived. */
  async #publish(): Promise<void> {
    const { chain, pool } = this.#parts;
    const number = this.#day + 1;
    const published = chain.publishDay(await this.#writeDay(number));
    let isOver = false;
    const watching = (async () => {
      while (!isOver && !(await isServed(pool, number))) await sleep(50);
      this.#load.noteServed(number);
    })();
    const [row] = await published.finally(() => {
      isOver = true;
    });
    await watching;
    if (row?.state !== 'publicada') throw new Error(`day ${number} ended ${row?.state}: ${row?.state_reason}`);
    this.#day = number;
    // A notice whose look-up comes after the next edition would name an older day than the look-up.
    for (let before = -1; before !== chain.received.length; await sleep(1_500)) before = chain.received.length;
  }

  async #writeDay(number: number): Promise<PublishedDay> {
    const directory = path.join(this.#parts.directory, `day-${number}`);
    mkdirSync(directory, { recursive: true });
    const lastModified = this.#dates[number - 1]!;
    const day = await writeDay({ directory, population: this.#population, day: number, lastModified, month: null });
    return { ...day, files: day.files.filter(({ register }) => register === 'padron_reducido') };
  }

  async #watchChanging(): Promise<void> {
    const { customer, receiver } = this.#parts.chain;
    await customer.createList('Proveedores', this.#load.changing().slice(0, 500));
    const webhook = await customer.createWebhook(`${receiver.origin}/avisos`);
    receiver.trust(webhook.secreto);
  }

  /** Look-ups per second at full speed. */
  async #measure(): Promise<number> {
    const { options, chain } = this.#parts;
    const load = this.#newLoad();
    const running = load.run(this.#urls(), chain.token, 0, 64);
    await sleep(options.measureSeconds * 1_000);
    load.stop();
    await running;
    this.#faults.push(...load.examples);
    return Math.round(load.counts.answered / options.measureSeconds);
  }

  #newLoad(): ReplicaLoad {
    return new ReplicaLoad(
      this.#population,
      this.#dates.map((date) => limaDay(date)),
    );
  }

  #urls(): string[] {
    return [this.#parts.chain.product.apiUrl, this.#parts.api.url];
  }

  async #untilServing(...names: string[]): Promise<void> {
    const isServing = async () => {
      const { rows } = await this.#parts.pool.query<{ name: string }>(
        `SELECT name FROM clickhouse_replica WHERE state = 'serving' ORDER BY name`,
      );
      return rows.map(({ name }) => name).join() === names.join();
    };
    await waitUntil(isServing, joinMs);
    if (!(await isServing())) this.#faults.push(`after ${joinMs / 1_000} s not these replicas serve: ${names.join()}`);
  }

  /** Both replicas must hold exactly what the archive says. */
  async #verify(): Promise<void> {
    const words = ['verify', '--register', 'padron_reducido'];
    const verified = await padron<{ replica: string; equal?: boolean }[]>(words, this.#parts.chain.environment);
    for (const { replica, equal } of verified)
      if (equal !== true) this.#faults.push(`replica ${replica} differs from the archive`);
  }
}

async function isServed(pool: Pool, edition: number): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT 1 FROM edition WHERE number = $1 AND materializada_at IS NOT NULL', [
    edition,
  ]);
  return rowCount === 1;
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
  const { twoReplicas, oneReplica } = report.perSecond;
  console.log(`at full speed: ${twoReplicas} look-ups a second with two replicas, ${oneReplica} with one`);
  conclude(report.faults, startedAt);
}
