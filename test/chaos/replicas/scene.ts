import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Chain, padron } from '../../../deploy/local/demo/chain.ts';
import { waitUntil } from '../../../deploy/local/demo/output.ts';
import { type PublishedDay, writeDay } from '../../../deploy/local/demo/register/day.ts';
import { populationOf } from '../../../deploy/local/demo/register/population.ts';
import type { Pool } from '../../../pipelines/runtime/postgres.ts';
import { limaDay } from '../../../schemas/lima-time.ts';
import { ProcessWatch } from '../../bench/process-watch.ts';
import type { ExtraProcess, ReplicaHost } from './host.ts';
import { type LoadCounts, ReplicaLoad } from './load.ts';

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
  /** Look-ups that were answered per second of the step. */
  perSecond: number;
}

/** What a number of replicas answer when callers ask as fast as they are answered. */
export interface FullSpeed {
  replicas: number;
  perSecond: number;
  /** CPU cores that all our processes used. On a machine that is shared it is less than the machine has. */
  cores: number;
  /** CPU microseconds of each kind of process for one look-up. `bench` is the callers' process. */
  cpuMicroseconds: Record<string, number>;
}

export interface ReplicaChaosReport {
  steps: ReplicaStep[];
  load: LoadCounts & { seconds: number };
  fullSpeed: FullSpeed[];
  notices: number;
  faults: string[];
}

const days = 40;
const seed = 20_261_129;
const dayMs = 86_400_000;
const joinMs = 240_000;
const settleMs = 10_000;
const fullSpeedCallers = 64;

export interface SceneParts {
  directory: string;
  options: ReplicaChaosOptions;
  log: (line: string) => void;
  chain: Chain;
  pool: Pool;
  /** Addresses of all API processes. */
  urls: string[];
  a: ReplicaHost;
  b: ReplicaHost;
  consumers: ExtraProcess;
}

/** What happens to the two replicas while they are asked. */
export class Scene {
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
    const { chain, a, options } = this.#parts;
    await this.#publish();
    await this.#step('both replicas serve', () => this.#untilServing('a', 'b'));
    await this.#watchChanging();
    const loadAt = performance.now();
    const asking = this.#load.run(this.#parts.urls, chain.token, options.perSecond, options.callers);
    try {
      await this.#killAndReplace();
    } finally {
      this.#load.stop();
      await asking;
    }
    const seconds = (performance.now() - loadAt) / 1_000;
    const one = await this.#measure(1);
    await a.restart();
    await this.#step('a serves again', () => this.#untilServing('a', 'b'));
    // Both are measured here, when every process is warm and nothing is left to load.
    await sleep(settleMs);
    const two = await this.#measure(2);
    await this.#verify();
    return this.#report(seconds, [two, one]);
  }

  async #killAndReplace(): Promise<void> {
    const { chain, a, b, consumers } = this.#parts;
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
  }

  #report(seconds: number, fullSpeed: FullSpeed[]): ReplicaChaosReport {
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
    return { steps: this.#steps, load: { ...counts, seconds }, fullSpeed, notices: received.length, faults };
  }

  async #step(step: string, work: () => Promise<unknown>): Promise<void> {
    const began = Date.now();
    const before = this.#load.counts.answered;
    await work();
    const seconds = Math.round((Date.now() - began) / 100) / 10;
    const { answered, wrong, old, errors } = this.#load.counts;
    const perSecond = Math.round((answered - before) / Math.max(seconds, 0.1));
    this.#steps.push({ step, seconds, day: this.#day, perSecond });
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

  async #measure(replicas: number): Promise<FullSpeed> {
    const { options, chain, urls } = this.#parts;
    const load = this.#newLoad();
    const watch = new ProcessWatch();
    const running = load.run(urls, chain.token, 0, fullSpeedCallers);
    await sleep(options.measureSeconds * 1_000);
    const used = watch.stop();
    load.stop();
    await running;
    this.#faults.push(...load.examples);
    const { answered } = load.counts;
    const cpu = [...used].map(([name, { cpuSeconds }]) => [name, Math.round((cpuSeconds / answered) * 1e6)] as const);
    const perSecond = Math.round(answered / options.measureSeconds);
    const cores = [...used.values()].reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0) / options.measureSeconds;
    return { replicas, perSecond, cores, cpuMicroseconds: Object.fromEntries(cpu.filter(([, spent]) => spent > 0)) };
  }

  #newLoad(): ReplicaLoad {
    return new ReplicaLoad(
      this.#population,
      this.#dates.map((date) => limaDay(date)),
    );
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
