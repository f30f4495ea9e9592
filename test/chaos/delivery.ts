import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeAuthority } from '../../deploy/local/demo/authority.ts';
import { type Chain, startChain } from '../../deploy/local/demo/chain.ts';
import type { ProcessName } from '../../deploy/local/product.ts';
import { makeKafka } from '../../deploy/runtime/kafka.ts';
import { makePool, type Pool } from '../../deploy/runtime/postgres.ts';
import { prepareStream } from '../../pipelines/stream/prepare.ts';
import { connectRegistry } from '../../pipelines/stream/schema-registry.ts';
import { startReceivers } from '../support/delivery-stage.ts';
import { keyRingText, silentLog } from '../support/watch-bench.ts';
import { type DeliveryLedger, ledgerOf } from './delivery-ledger.ts';
import { Load, makeCustomers } from './delivery-load.ts';

export const deliveryVictims = ['worker', 'consumers', 'kafka', 'postgres', 'temporal', 'receiver'] as const;
type Victim = (typeof deliveryVictims)[number];

export interface DeliveryChaosOptions {
  /** How long kills are begun; editions keep coming until the last victim is back. */
  seconds: number;
  /** From one kill to the next. */
  killEverySeconds: number;
  editionEverySeconds: number;
  customers: number;
  /** Watched by each customer; all of them change in every edition. */
  companies: number;
}

export interface DeliveryKill {
  second: number;
  victim: Victim;
  /** Notices that had come when it was killed. */
  arrived: number;
  /** Until it served again. */
  backAfterSeconds: number;
}

export interface DeliveryChaosReport {
  kills: DeliveryKill[];
  ledger: DeliveryLedger;
}

const settleMs = 300_000;
const processes: readonly ProcessName[] = ['worker', 'consumers'];

/**
 * Editions of changes of watched companies through Kafka, consumers, PostgreSQL, Temporal and worker to receivers, while one
 * after another of them is killed with -9 and started again. In the end every notice must have come.
 */
export async function runDeliveryChaos(
  options: DeliveryChaosOptions,
  log: (line: string) => void,
): Promise<DeliveryChaosReport> {
  const directory = mkdtempSync(path.join(tmpdir(), 'padron-chaos-delivery-'));
  const stops: (() => Promise<unknown>)[] = [
    () => Promise.resolve(rmSync(directory, { recursive: true, force: true })),
  ];
  try {
    return await runIn(directory, options, log, stops);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function runIn(
  directory: string,
  options: DeliveryChaosOptions,
  log: (line: string) => void,
  stops: (() => Promise<unknown>)[],
): Promise<DeliveryChaosReport> {
  const receiver = await KillableReceiver.start(path.join(directory, 'ledger.txt'));
  stops.push(() => receiver.kill());
  const caFile = path.join(directory, 'authority.pem');
  writeFileSync(caFile, receiver.caPem);
  const environment = { EGRESS_EXTRA_CA: caFile, WEBHOOK_SECRET_KEYS: keyRingText };
  const chain = await startChain({ directory: path.join(directory, 'chain'), log, environment });
  stops.push(() => chain.stop());
  const pool = makePool(chain.stack.endpoints.DATABASE_URL, 'padron-chaos', 3);
  stops.push(() => pool.end());
  const rate = Math.max(1, Math.ceil((options.companies / options.editionEverySeconds) * 1.5));
  const customers = await makeCustomers(pool, receiver.origin, options.customers, options.companies, rate);
  const load = await Load.start(pool, chain.stack.endpoints.KAFKA_BROKERS, await schemaId(chain, pool), customers);
  stops.push(() => load.stop());

  const until = Date.now() + options.seconds * 1_000;
  let isOver = false;
  const publishing = publishWhile(load, () => !isOver || Date.now() < until, options.editionEverySeconds * 1_000);
  const kills = await fire(chain, receiver, until, options, log).finally(() => {
    isOver = true;
  });
  await publishing;
  for (const process of processes) await ensureRunning(chain, process, log);
  log(`${load.expected.size} notices are due; waiting for the last ones`);
  await waitForAll(receiver, load.expected, settleMs);
  return { kills, ledger: await ledgerOf(pool, load.expected, receiver.arrivals()) };
}

async function schemaId({ stack }: Chain, pool: Pool): Promise<number> {
  const { KAFKA_BROKERS, SCHEMA_REGISTRY_URL, ARCHIVE_URL } = stack.endpoints;
  const kafka = makeKafka(KAFKA_BROKERS, 'chaos', silentLog);
  const registry = connectRegistry(SCHEMA_REGISTRY_URL);
  const ids = await prepareStream({ kafka, registry, pool, archiveUrl: ARCHIVE_URL, prefix: '' }, 'padron_reducido');
  return ids.changes;
}

async function publishWhile(load: Load, goesOn: () => boolean, everyMs: number): Promise<void> {
  while (goesOn()) {
    const next = Date.now() + everyMs;
    await load.publishEdition();
    await sleep(Math.max(0, next - Date.now()));
  }
}

async function fire(
  chain: Chain,
  receiver: KillableReceiver,
  until: number,
  { seconds, killEverySeconds }: DeliveryChaosOptions,
  log: (line: string) => void,
): Promise<DeliveryKill[]> {
  const began = until - seconds * 1_000;
  const kills: DeliveryKill[] = [];
  for (let round = 0; ; round += 1) {
    const next = began + (round + 0.5) * killEverySeconds * 1_000;
    if (next >= until) return kills;
    await sleep(Math.max(0, next - Date.now()));
    const victim = deliveryVictims[round % deliveryVictims.length]!;
    const arrived = receiver.arrivals().length;
    const killedAt = Date.now();
    log(`kill -9 ${victim} after ${arrived} notices`);
    await killAndRestart(chain, receiver, victim);
    const backAfterSeconds = Math.round((Date.now() - killedAt) / 100) / 10;
    kills.push({ second: Math.round((killedAt - began) / 1_000), victim, arrived, backAfterSeconds });
    for (const process of processes) await ensureRunning(chain, process, log);
  }
}

async function killAndRestart(chain: Chain, receiver: KillableReceiver, victim: Victim): Promise<void> {
  if (victim === 'receiver') {
    await receiver.kill();
    await sleep(500);
    return receiver.restart();
  }
  if (victim === 'worker' || victim === 'consumers') {
    await chain.product.kill(victim);
    await sleep(500);
    return chain.product.restart(victim);
  }
  await chain.stack.kill(victim);
  await sleep(500);
  await chain.stack.restart(victim);
}

/** What an orchestrator does: a process that ended because its engine was away is started again. */
async function ensureRunning(chain: Chain, process: ProcessName, log: (line: string) => void): Promise<void> {
  if (chain.product.pid(process) !== undefined) return;
  log(`${process} had ended by itself and is started again`);
  await chain.product.restart(process);
}

async function waitForAll(receiver: KillableReceiver, expected: ReadonlySet<string>, timeoutMs: number): Promise<void> {
  for (const until = Date.now() + timeoutMs; Date.now() < until; await sleep(1_000)) {
    const arrived = new Set(receiver.arrivals());
    if ([...expected].every((id) => arrived.has(id))) break;
  }
  // Long enough for a notice too many, or the record of the last one, to show itself.
  await sleep(5_000);
}

/** Writes every delivery id to a file before it answers, so that a kill loses nothing of what was answered. */
class KillableReceiver {
  readonly #options: Parameters<typeof startReceivers>[0];
  readonly caPem: string;
  readonly origin: string;
  #process: ChildProcess;

  private constructor(
    options: Parameters<typeof startReceivers>[0],
    caPem: string,
    started: { receivers: ChildProcess; port: number },
  ) {
    this.#options = { ...options, port: started.port };
    this.caPem = caPem;
    this.origin = `https://127.0.0.1:${started.port}`;
    this.#process = started.receivers;
  }

  static async start(ledgerFile: string): Promise<KillableReceiver> {
    const authority = await makeAuthority('Receivers');
    const options = { ...(await authority.issue({ names: ['127.0.0.1'] })), ledgerFile };
    return new KillableReceiver(options, authority.caPem, await startReceivers(options));
  }

  /** Delivery ids in the order in which they came, repeats included. */
  arrivals(): string[] {
    return readFileSync(this.#options.ledgerFile!, 'utf8').split('\n').filter(Boolean);
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }

  async restart(): Promise<void> {
    this.#process = (await startReceivers(this.#options)).receivers;
  }
}
