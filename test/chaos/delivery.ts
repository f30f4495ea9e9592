import { setTimeout as sleep } from 'node:timers/promises';
import type { Chain } from '../../deploy/local/demo/chain.ts';
import type { ProcessName } from '../../deploy/local/product.ts';
import { type DeliveryChain, startDeliveryChain } from '../support/delivery/chain.ts';
import type { KillableReceiver } from '../support/delivery/killable-receiver.ts';
import type { Load } from '../support/delivery/load.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { conclude, showLedger } from './conclude.ts';
import { type DeliveryLedger, faultsOf, ledgerOf } from './delivery-ledger.ts';

export const deliveryVictims = ['worker', 'consumers', 'kafka', 'postgres', 'temporal', 'receiver'] as const;
type Victim = (typeof deliveryVictims)[number];

export interface DeliveryChaosOptions {
  /** As many kills as fit into this time. Editions keep coming until the last victim is back. */
  seconds: number;
  /** The time between kills, which is longer if a victim needs longer to come back. */
  killEverySeconds: number;
  editionEverySeconds: number;
  customers: number;
  /** Companies that each customer watches. All of them change in every edition. */
  companies: number;
}

export interface DeliveryKill {
  second: number;
  victim: Victim;
  /** Deliveries that had arrived when the victim was dead. */
  arrived: number;
  /** Time until the victim served again. */
  backAfterSeconds: number;
  /** Deliveries that arrived between the previous kill and this one, and arrived again. */
  repeated: number;
}

export interface DeliveryChaosReport {
  kills: DeliveryKill[];
  ledger: DeliveryLedger;
}

const settleMs = 300_000;
const downMs = 500;
const processes: readonly ProcessName[] = ['worker', 'consumers'];

/**
 * Sends editions through Kafka, consumers, PostgreSQL, Temporal and worker to receivers, while each of them in turn is
 * killed with -9 and started again. In the end every delivery must have arrived.
 */
export async function runDeliveryChaos(
  options: DeliveryChaosOptions,
  log: (line: string) => void,
): Promise<DeliveryChaosReport> {
  const rate = Math.max(1, Math.ceil((options.companies / options.editionEverySeconds) * 1.5));
  const stage = await startDeliveryChain({ ...options, rate }, log);
  try {
    return await runIn(stage, options, log);
  } finally {
    await stage.stop();
  }
}

async function runIn(
  { chain, receiver, pool, load }: DeliveryChain,
  options: DeliveryChaosOptions,
  log: (line: string) => void,
): Promise<DeliveryChaosReport> {
  let isOver = false;
  const publishing = publishWhile(load, () => !isOver, options.editionEverySeconds * 1_000);
  const kills = await fire(chain, receiver, options, log).finally(() => {
    isOver = true;
  });
  await publishing;
  for (const process of processes) await ensureRunning(chain, process, log);
  log(`${load.expected.size} deliveries are due; waiting for the last ones`);
  await receiver.waitForAll(load.expected, settleMs);
  // A delivery too many would arrive within this time, and the last one is recorded.
  await sleep(5_000);
  const arrivals = receiver.arrivals();
  const repeats = repeatsOf(arrivals);
  const repeatedBefore = (kill: number) => repeats.filter((at) => at < (kills[kill]?.arrived ?? 0)).length;
  return {
    kills: kills.map((kill, at) => ({ ...kill, repeated: repeatedBefore(at) - repeatedBefore(at - 1) })),
    ledger: await ledgerOf(pool, load.expected, arrivals),
  };
}

/** The positions, in the order of arrival, of deliveries that arrived again later. */
function repeatsOf(arrivals: readonly string[]): number[] {
  const last = new Map(arrivals.map((id, at) => [id, at]));
  return arrivals.flatMap((id, at) => (last.get(id)! > at ? [at] : []));
}

async function publishWhile(load: Load, goesOn: () => boolean, everyMs: number): Promise<void> {
  while (goesOn()) {
    const next = Date.now() + everyMs;
    await load.publishEdition();
    await sleep(Math.max(0, next - Date.now()));
  }
}

interface Host {
  kill(): Promise<void>;
  restart(): Promise<void>;
}

async function fire(
  chain: Chain,
  receiver: KillableReceiver,
  { seconds, killEverySeconds }: DeliveryChaosOptions,
  log: (line: string) => void,
): Promise<Omit<DeliveryKill, 'repeated'>[]> {
  const began = Date.now();
  const everyMs = killEverySeconds * 1_000;
  const kills: Omit<DeliveryKill, 'repeated'>[] = [];
  await sleep(everyMs / 2);
  for (let round = 0; round < Math.floor(seconds / killEverySeconds); round += 1) {
    const victim = deliveryVictims[round % deliveryVictims.length]!;
    const host = hostOf(chain, receiver, victim);
    const killedAt = Date.now();
    await host.kill();
    // Counted once the victim is dead, because deliveries that it still sent belong to this kill.
    const arrived = receiver.arrivals().length;
    log(`kill -9 ${victim} after ${arrived} deliveries`);
    await sleep(downMs);
    await host.restart();
    const backAfterSeconds = Math.round((Date.now() - killedAt) / 100) / 10;
    kills.push({ second: Math.round((killedAt - began) / 1_000), victim, arrived, backAfterSeconds });
    for (const process of processes) await ensureRunning(chain, process, log);
    await sleep(Math.max(0, killedAt + everyMs - Date.now()));
  }
  return kills;
}

function hostOf({ product, stack }: Chain, receiver: KillableReceiver, victim: Victim): Host {
  if (victim === 'receiver') return receiver;
  if (victim === 'worker' || victim === 'consumers') {
    return { kill: () => product.kill(victim), restart: () => product.restart(victim) };
  }
  return { kill: () => stack.kill(victim), restart: () => stack.restart(victim) };
}

/** Starts a process again if it ended because its engine was away, as an orchestrator does. */
async function ensureRunning(chain: Chain, process: ProcessName, log: (line: string) => void): Promise<void> {
  if (chain.product.pid(process) !== undefined) return;
  log(`${process} had ended by itself and is started again`);
  await chain.product.restart(process);
}

/**
 * `--seconds S` (600), `--every S` (20). Changes of watched companies keep coming, while worker, consumers, Kafka,
 * PostgreSQL, Temporal and receiver are killed with -9 in turn, one every S seconds or later where one is long in coming
 * back. Then every delivery must have come, none that is not due, and at most 0.1 % of them twice, each because it was
 * in flight at a kill; the ledger says so. Exit code 0 only if nothing differs.
 */
export async function run(args: string[]): Promise<void> {
  const startedAt = Date.now();
  const sizes = { editionEverySeconds: 5, customers: 20, companies: 10 };
  const times = { seconds: numberOption(args, 'seconds', 600, 10), killEverySeconds: numberOption(args, 'every', 20) };
  const { kills, ledger } = await runDeliveryChaos({ ...times, ...sizes }, console.log);
  console.table(kills);
  showLedger(ledger);
  conclude(faultsOf(ledger), startedAt);
}
