import { setTimeout as sleep } from 'node:timers/promises';
import type { Chain } from '../../deploy/local/demo/chain.ts';
import type { ProcessName } from '../../deploy/local/product.ts';
import { type DeliveryChain, startDeliveryChain } from '../support/delivery-chain.ts';
import type { KillableReceiver } from '../support/delivery-killable-receiver.ts';
import type { Load } from '../support/delivery-load.ts';
import { type DeliveryLedger, ledgerOf } from './delivery-ledger.ts';

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
  const until = Date.now() + options.seconds * 1_000;
  let isOver = false;
  const publishing = publishWhile(load, () => !isOver || Date.now() < until, options.editionEverySeconds * 1_000);
  const kills = await fire(chain, receiver, until, options, log).finally(() => {
    isOver = true;
  });
  await publishing;
  for (const process of processes) await ensureRunning(chain, process, log);
  log(`${load.expected.size} notices are due; waiting for the last ones`);
  await receiver.waitForAll(load.expected, settleMs);
  // Long enough for a notice too many, or the record of the last one, to show itself.
  await sleep(5_000);
  return { kills, ledger: await ledgerOf(pool, load.expected, receiver.arrivals()) };
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
