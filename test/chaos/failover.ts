import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Chain } from '../../deploy/local/demo/chain.ts';
import { waitUntil } from '../../deploy/local/demo/output.ts';
import { writeTwoDays } from '../../deploy/local/demo/two-days.ts';
import { processNames } from '../../deploy/local/product.ts';
import { type DeliveryChain, startDeliveryChain } from '../support/delivery/chain.ts';
import { addStandby, type PostgresServer, promote, startServer } from '../support/engines/postgres-servers.ts';
import { makeTcpProxy, type TcpProxy } from '../support/engines/tcp-proxy.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { readPublication } from '../support/registers/state.ts';
import { conclude, showLedger } from './conclude.ts';
import { type DeliveryLedger, faultsOf, ledgerOf } from './delivery-ledger.ts';
import { QuotaLoad } from './quota-load.ts';

/**
 * How the primary goes away. `reset`: its connections end. `silent`: its machine is lost, so no packet says so, and new
 * connections get no answer. `early`: as `reset`, and the address points to the standby before that is promoted.
 */
export const failoverKinds = ['reset', 'silent', 'early'] as const;
export type FailoverKind = (typeof failoverKinds)[number];

export interface FailoverOptions {
  kinds: readonly FailoverKind[];
  /** Load before the first failover, between two, and after the last one. */
  betweenSeconds: number;
  customers: number;
  /** Companies that each customer watches. All of them change in every edition. */
  companies: number;
  editionEverySeconds: number;
  lookUpsPerSecond: number;
}

export interface Failover {
  kind: FailoverKind;
  /** From the kill until the address pointed to the new primary. */
  downSeconds: number;
  /** From then until PostgreSQL first took each kind of work again. */
  lookUpsBack: number;
  batchesBack: number;
  eventsBack: number;
  deliveriesBack: number;
}

/** Longest time until the service is back on a machine with nothing else to do. */
const maxBackSeconds = 10;

/** What took longer than `maxBackSeconds`. It is no fault of the test suite, whose machine may be busy. */
export function slowOf(failovers: readonly Failover[]): string[] {
  const works = ['lookUpsBack', 'batchesBack', 'eventsBack', 'deliveriesBack'] as const;
  return failovers.flatMap((failover) =>
    works
      .filter((work) => failover[work] > maxBackSeconds)
      .map((work) => `${failover.kind}: ${work} after ${failover[work]} s, not ${maxBackSeconds}`),
  );
}

type Work = 'lookUpsBack' | 'batchesBack' | 'eventsBack' | 'deliveriesBack';

export interface FailoverReport {
  failovers: Failover[];
  ledger: DeliveryLedger;
  quota: Quota;
  /** Everything that must not happen besides the faults of the ledger. */
  faults: string[];
}

export interface Quota {
  /** Look-ups answered, those that PostgreSQL charged, and those that the API let pass while PostgreSQL was away. */
  answered: number;
  charged: number;
  uncharged: number;
  failed: number;
  batches: number;
  batchesCharged: number;
}

const settleMs = 300_000;
const backMs = 60_000;
/** How long nobody notices the lost primary, as an operator's tool needs some seconds as well. */
const unnoticedMs = 3_000;
/** A charge does not wait for the disk. So a crash forgets at most this much of the charges. */
const forgottenMs = 1_000;

/**
 * Kills the primary of PostgreSQL under deliveries and look-ups, promotes its synchronous standby, and moves the
 * address. In the end every delivery must have arrived, and the charges must be those that were committed.
 */
export async function runFailover(options: FailoverOptions, log: (line: string) => void): Promise<FailoverReport> {
  const directory = mkdtempSync(path.join(tmpdir(), 'padron-failover-'));
  const stops: (() => unknown)[] = [() => rmSync(directory, { recursive: true, force: true })];
  try {
    const servers: PostgresServer[] = [];
    // The product stops before its engines, so the servers that are added later are stopped here.
    stops.push(() => Promise.all(servers.map(({ stack }) => stack.stop())));
    const primary = await startServer(path.join(directory, 'postgres-0'));
    servers.push(primary);
    const address = await makeTcpProxy(primary.url);
    stops.push(() => address.stop());
    const rate = Math.max(1, Math.ceil((options.companies / options.editionEverySeconds) * 1.5));
    let rucs: string[] = [];
    const stage = await startDeliveryChain(
      {
        ...{ ...options, rate },
        addresses: { DATABASE_URL: address.url },
        async prepare(chain) {
          rucs = await publishRegister(chain, path.join(directory, 'site'));
          return 1;
        },
      },
      log,
    );
    stops.push(() => stage.stop());
    return await new Run(stage, address, servers, directory, log).all(options, rucs);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

/** Publishes a small daily register, so that look-ups are answered. Returns RUCs of its companies. */
async function publishRegister(chain: Chain, folder: string): Promise<string[]> {
  const { first } = await writeTwoDays(folder, 3_000);
  const daily = { ...first, files: first.files.filter(({ register }) => register === 'padron_reducido') };
  const [row] = await chain.publishDay(daily);
  if (row?.state !== 'publicada') throw new Error(`the register is ${row?.state}: ${row?.state_reason}`);
  const rows = await readPublication(first.daily.path);
  return [...rows.keys()].filter((ruc) => ruc.startsWith('20')).slice(0, 500);
}

class Run {
  readonly #stage: DeliveryChain;
  readonly #address: TcpProxy;
  readonly #directory: string;
  readonly #log: (line: string) => void;
  readonly #faults: string[] = [];
  /** All servers so far, for their stop. */
  readonly #servers: PostgresServer[];
  /** Charges that a crash of the primary may have forgotten: those of the last moment before each kill. */
  #forgettable = 0;
  #primary: PostgresServer;

  constructor(
    stage: DeliveryChain,
    address: TcpProxy,
    servers: PostgresServer[],
    directory: string,
    log: (line: string) => void,
  ) {
    this.#stage = stage;
    this.#address = address;
    this.#servers = servers;
    this.#primary = servers[0]!;
    this.#directory = directory;
    this.#log = log;
  }

  async all(options: FailoverOptions, rucs: readonly string[]): Promise<FailoverReport> {
    const { chain, receiver, pool, load } = this.#stage;
    const pids = processNames.map((name) => chain.product.pid(name));
    const quotaLoad = await QuotaLoad.start(chain, rucs, options.lookUpsPerSecond);
    let isOver = false;
    const publishing = (async () => {
      for (let next = Date.now(); !isOver; await sleep(Math.max(0, next - Date.now()))) {
        next += options.editionEverySeconds * 1_000;
        await load.publishEdition();
      }
    })();
    const failovers: Failover[] = [];
    try {
      for (const [index, kind] of options.kinds.entries()) {
        const standby = await addStandby(this.#primary, path.join(this.#directory, `postgres-${index + 1}`));
        this.#servers.push(standby);
        await sleep(options.betweenSeconds * 1_000);
        failovers.push(await this.#failOver(kind, standby, quotaLoad));
      }
      await sleep(options.betweenSeconds * 1_000);
    } finally {
      isOver = true;
      await Promise.all([publishing, quotaLoad.stop()]);
    }
    this.#log(`${load.expected.size} deliveries are due; waiting for the last ones`);
    await receiver.waitForAll(load.expected, settleMs);
    // A delivery too many would arrive within this time, and the last one is recorded.
    await sleep(5_000);
    for (const [index, name] of processNames.entries()) {
      if (chain.product.pid(name) !== pids[index]) this.#faults.push(`the ${name} process ended`);
    }
    const ledger = await ledgerOf(pool, load.expected, receiver.arrivals());
    const quota = await this.#quota(quotaLoad);
    return { failovers, ledger, quota, faults: this.#faults };
  }

  async #failOver(kind: FailoverKind, standby: PostgresServer, load: QuotaLoad): Promise<Failover> {
    const killedAt = Date.now();
    if (kind === 'silent') this.#address.strand();
    await this.#primary.stack.kill('postgres');
    this.#forgettable += load.lookUps.filter(({ endedAt }) => endedAt >= killedAt - forgottenMs).length;
    this.#log(`kill -9 of the primary (${kind}) after ${this.#stage.receiver.arrivals().length} deliveries`);
    if (kind === 'early') this.#address.moveTo(standby.url);
    await sleep(unnoticedMs);
    await promote(standby);
    const direct = await connect(standby);
    const before = await load.charged(direct);
    this.#address.moveTo(standby.url);
    const movedAt = Date.now();
    this.#primary = standby;
    const answers = load.batches.length;
    const wrote = (column: 'created_at' | 'finished_at') => () => hasDelivery(direct, column, new Date(movedAt));
    const works: Record<Work, () => Promise<boolean>> = {
      lookUpsBack: async () => (await load.charged(direct)).lookUps > before.lookUps,
      batchesBack: async () => load.batches.slice(answers).some(({ beganAt }) => beganAt >= movedAt),
      eventsBack: wrote('created_at'),
      deliveriesBack: wrote('finished_at'),
    };
    const failover = { kind, downSeconds: (movedAt - killedAt) / 1_000 } as Failover;
    for (const [work, isBack] of Object.entries(works) as [Work, () => Promise<boolean>][]) {
      // The works are waited for one after another. A later one that was back meanwhile is found at its first look.
      if (!(await waitUntil(isBack, backMs))) this.#faults.push(`${kind}: no ${work} within ${backMs / 1_000} s`);
      failover[work] = (Date.now() - movedAt) / 1_000;
    }
    await direct.end();
    this.#log(`back ${failover.deliveriesBack.toFixed(1)} s after the address was moved`);
    return failover;
  }

  async #quota(load: QuotaLoad): Promise<Quota> {
    const { chain, pool } = this.#stage;
    const metrics = await (await fetch(`${chain.product.healthUrls.api}/metrics`)).text();
    const uncharged = Number(/^padron_api_uncharged_units_total\S* (\d+)$/m.exec(metrics)?.[1] ?? 0);
    const charged = await load.charged(pool);
    const answered = load.lookUps.length;
    const forgotten = answered - charged.lookUps - uncharged;
    if (forgotten < 0) this.#faults.push(`${-forgotten} look-ups were charged twice`);
    if (forgotten > this.#forgettable) {
      this.#faults.push(`${forgotten} charges are missing, and only ${this.#forgettable} may be forgotten`);
    }
    if (charged.batches !== load.batches.length) {
      this.#faults.push(`${load.batches.length} batches were answered, and ${charged.batches} charged`);
    }
    const failed = [...load.failures.values()].reduce((sum, count) => sum + count, 0);
    const counts = { answered, charged: charged.lookUps, uncharged, failed };
    return { ...counts, batches: load.batches.length, batchesCharged: charged.batches };
  }
}

async function connect({ url }: PostgresServer): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

/** Whether a delivery was written (with its event) or recorded as sent after the time. */
async function hasDelivery(client: pg.Client, column: 'created_at' | 'finished_at', since: Date): Promise<boolean> {
  const { rowCount } = await client.query(`SELECT FROM delivery WHERE ${column} > $1 LIMIT 1`, [since]);
  return rowCount === 1;
}

/**
 * `--seconds S` (20 of load around each failover). PostgreSQL has a synchronous standby. Under 200 deliveries a second and
 * look-ups that are charged, the primary is killed with -9, the standby promoted, and the address moved to it. Three
 * times: connections end, nothing says that the machine is lost, the address moves before the promotion. Then every
 * delivery must have come, and the charges must be those that were committed; after each move the service must be back
 * within 10 s. Exit code 0 only if nothing differs.
 */
export async function run(args: string[]): Promise<void> {
  const startedAt = Date.now();
  const load = { editionEverySeconds: 1, customers: 20, companies: 10, lookUpsPerSecond: 40 };
  const betweenSeconds = numberOption(args, 'seconds', 20);
  const report = await runFailover({ kinds: failoverKinds, betweenSeconds, ...load }, console.log);
  console.table(report.failovers);
  showLedger(report.ledger);
  console.table(report.quota);
  conclude([...faultsOf(report.ledger), ...report.faults, ...slowOf(report.failovers)], startedAt);
}
