import { setTimeout as sleep } from 'node:timers/promises';
import type { Chain } from '../../deploy/local/demo/chain.ts';
import { type ProcessName, processNames } from '../../deploy/local/product.ts';
import { makeClickhouse } from '../../pipelines/runtime/clickhouse.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { apiSecrets, makeCaller } from '../support/api/process.ts';
import { SteadyCalls, type SteadyFigures } from '../support/api/steady-calls.ts';
import { type DeliveryChain, startDeliveryChain } from '../support/delivery/chain.ts';
import { Balancer } from '../support/process/balancer.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { errorLines, type RunningProcess, startProcess, untilReady } from '../support/process/product-process.ts';
import { insertEdition, insertTaxpayers } from '../support/registers/served-register.ts';
import { conclude } from './conclude.ts';
import { type DeliveryLedger, faultsOf, ledgerOf } from './delivery-ledger.ts';

export interface RollingOptions {
  /** How often every process is replaced. */
  rounds: number;
  lookUpsPerSecond: number;
  editionEverySeconds: number;
  customers: number;
  /** Companies that each customer watches. All of them change in every edition. */
  companies: number;
}

interface Restart {
  process: ProcessName;
  /** From SIGTERM to the end of the process. */
  stoppedInMs: number;
  exitCode: number | null;
  /** From the start of the next process until it was ready. */
  readyInMs: number;
}

export interface RollingReport {
  restarts: Restart[];
  lookUps: SteadyFigures;
  ledger: DeliveryLedger;
  /** Everything that must not happen. It must be empty. */
  faults: string[];
}

/** Look-ups ask for companies that no edition of the load changes. */
const lookedUp = Array.from({ length: 50 }, (_, number) => ({
  ruc: ['20131312955', '20100070970', '20100130204'][number % 3]!,
  name: `EMPRESA FIJA ${number % 3} S.A.C.`,
}));
const processesOfEach = 2;
const drainMs = 2_000;
const settleMs = 900_000;

/**
 * Replaces each of two APIs, two consumers and two workers, one after another, while look-ups are asked and editions
 * make deliveries. No look-up may fail, and no delivery may be lost or sent again after it was answered.
 */
export async function runRolling(options: RollingOptions, log: (line: string) => void): Promise<RollingReport> {
  const rate = Math.max(1, Math.ceil((options.companies / options.editionEverySeconds) * 1.5));
  const stage = await startDeliveryChain({ ...options, rate, prepare: serveCompanies }, log);
  const settings = {
    AUDIT_HMAC_KEY: apiSecrets.AUDIT_HMAC_KEY,
    REQUIRED_REGISTERS: 'padron_reducido',
    STOP_DRAIN_MS: String(drainMs),
  };
  const fleet = new Fleet({ ...stage.chain.environment, ...settings }, log);
  try {
    // The fleet takes the place of the chain's own three processes.
    await stage.chain.product.stop();
    await fleet.start();
    return await runIn(stage, fleet, options, log);
  } finally {
    await fleet.stop();
    await stage.stop();
  }
}

/** Serves the companies that are looked up by edition 1, and returns its number. */
async function serveCompanies(chain: Chain, pool: Pool): Promise<number> {
  const clickhouse = makeClickhouse(chain.stack.endpoints.CLICKHOUSE_URL, 'chaos', {
    requestTimeoutMs: 10_000,
    connections: 1,
  });
  const lines = new Set(lookedUp.map(({ ruc, name }) => `${ruc}|${name}|ACTIVO|HABIDO|150101|-|-|-|-|-|-|-|-|-|-|`));
  await insertTaxpayers(
    clickhouse,
    [...lines].map((line) => ({ line })),
  );
  await clickhouse.close();
  await insertEdition(pool, { number: 1, fechaDato: '2026-11-25' });
  await pool.query('UPDATE edition SET avisada_at = now() WHERE number = 1');
  await pool.query('UPDATE plan SET lookups_per_month = 10000000, requests_per_minute = 1000000');
  return 1;
}

async function runIn(
  { pool, receiver, load }: DeliveryChain,
  fleet: Fleet,
  { rounds, lookUpsPerSecond, editionEverySeconds }: RollingOptions,
  log: (line: string) => void,
): Promise<RollingReport> {
  const { token } = await makeCaller(pool, fleet.balancer.url);
  let next = 0;
  const calls = new SteadyCalls(fleet.balancer.url, token, lookUpsPerSecond, () => {
    const { ruc, name } = lookedUp[next++ % lookedUp.length]!;
    return { path: `/id/v1/ruc/${ruc}`, expected: name };
  });
  let isOver = false;
  const publishing = (async () => {
    while (!isOver) {
      await load.publishEdition();
      await sleep(editionEverySeconds * 1_000);
    }
  })();
  const restarts: Restart[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const process of processNames) {
      for (let number = 0; number < processesOfEach; number += 1) {
        const restart = await fleet.replaceOldest(process);
        restarts.push(restart);
        const { stoppedInMs, exitCode, readyInMs } = restart;
        log(`${process}: ended with ${exitCode} in ${stoppedInMs} ms, the next one ready in ${readyInMs} ms`);
        log(`  ${calls.asked} look-ups, ${calls.failures.length} failed; ${receiver.arrivals().length} deliveries`);
      }
    }
  }
  isOver = true;
  await publishing;
  log(`${load.expected.size} deliveries are due; waiting for the last ones`);
  await receiver.waitForAll(load.expected, settleMs);
  // A delivery too many would arrive within this time, and the last one is recorded.
  await sleep(5_000);
  const lookUps = await calls.stop();
  if (lookUps.failures.length > 0) for (const line of fleet.errors('api')) log(line);
  const ledger = await ledgerOf(pool, load.expected, receiver.arrivals());
  return { restarts, lookUps, ledger, faults: faultsIn(restarts, lookUps, ledger) };
}

function faultsIn(restarts: readonly Restart[], lookUps: SteadyFigures, ledger: DeliveryLedger): string[] {
  return [
    ...restarts
      .filter(({ exitCode }) => exitCode !== 0)
      .map(({ process, exitCode }) => `${process} ended with ${exitCode}`),
    ...lookUps.failures.map((failure) => `look-up failed: ${failure}`),
    ...faultsOf(ledger),
    // No process was killed, so each had the time to record what it had sent.
    ...(ledger.repeatedByKill > 0 ? [`${ledger.repeatedByKill} deliveries repeated`] : []),
  ];
}

/** Two of each process, the APIs behind a balancer. */
class Fleet {
  balancer!: Balancer;
  readonly #environment: Record<string, string>;
  readonly #log: (line: string) => void;
  readonly #running = new Map<ProcessName, RunningProcess[]>(processNames.map((name) => [name, []]));
  readonly #all = new Map<ProcessName, RunningProcess[]>(processNames.map((name) => [name, []]));

  constructor(environment: Record<string, string>, log: (line: string) => void) {
    this.#environment = environment;
    this.#log = log;
  }

  async start(): Promise<void> {
    this.balancer = await Balancer.start();
    for (const name of processNames) {
      for (let number = 0; number < processesOfEach; number += 1) await this.#add(name);
    }
  }

  async replaceOldest(name: ProcessName): Promise<Restart> {
    const oldest = this.#running.get(name)!.shift()!;
    const stoppedAt = performance.now();
    const exitCode = await oldest.stop();
    this.balancer.remove(oldest);
    const startedAt = performance.now();
    if (exitCode !== 0) this.#log(oldest.output().split('\n').slice(-15).join('\n'));
    await this.#add(name);
    return {
      process: name,
      stoppedInMs: Math.round(startedAt - stoppedAt),
      exitCode,
      readyInMs: Math.round(performance.now() - startedAt),
    };
  }

  /** What all processes of a kind logged as errors, also those that were replaced. */
  errors(name: ProcessName): string[] {
    return this.#all.get(name)!.flatMap(errorLines);
  }

  async stop(): Promise<void> {
    await this.balancer?.stop();
    await Promise.all([...this.#running.values()].flat().map((process) => process.stop()));
  }

  async #add(name: ProcessName): Promise<void> {
    const process = await startProcess(name, this.#environment);
    for (const processes of [this.#running, this.#all]) processes.get(name)!.push(process);
    await untilReady(process);
    if (name === 'api') this.balancer.add(process);
  }
}

/**
 * `--rounds N` (3). Look-ups are asked and changes of watched companies keep coming, while each of two APIs, two
 * consumers and two workers is stopped by SIGTERM and replaced, one after another, N times. No look-up may fail, no
 * delivery may be lost or repeated. Exit code 0 only if nothing differs.
 */
export async function run(args: string[]): Promise<void> {
  const startedAt = Date.now();
  const sizes = { lookUpsPerSecond: 50, editionEverySeconds: 10, customers: 20, companies: 5 };
  const options = { rounds: numberOption(args, 'rounds', 3), ...sizes };
  const { restarts, lookUps, ledger, faults } = await runRolling(options, console.log);
  console.table(restarts);
  console.log(
    `look-ups: ${lookUps.asked} asked, ${lookUps.failures.length} failed, the slowest took ${Math.round(lookUps.slowestMs)} ms`,
  );
  console.log(
    `deliveries: ${ledger.expected} expected, ${ledger.arrived} arrived, ${ledger.lost.length} lost, ${ledger.repeatedByKill + ledger.repeatedUnexplained.length} repeated`,
  );
  conclude(faults, startedAt);
}
