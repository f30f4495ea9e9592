import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Chain, padron, startChain } from '../../deploy/local/demo/chain.ts';
import { waitUntil } from '../../deploy/local/demo/output.ts';
import type { PublishedDay } from '../../deploy/local/demo/register/day.ts';
import type { TrueChange } from '../../deploy/local/demo/register/population.ts';
import { type TwoDays, writeTwoDays } from '../../deploy/local/demo/two-days.ts';
import { faultsOf, type Watched } from '../../deploy/local/demo/watched.ts';
import { within } from '../../pipelines/runtime/lifecycle.ts';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { differences, readHistory, readPublication, readState } from '../support/registers/state.ts';
import { conclude } from './conclude.ts';

export const victims = ['consumers', 'worker', 'kafka', 'clickhouse'] as const;
type Victim = (typeof victims)[number];

export interface Kill {
  day: 1 | 2;
  victim: Victim;
  /** The state of the publication when the victim was killed. */
  publication: string;
  materialised: boolean;
}

export interface ChaosReport {
  kills: Kill[];
  /** Everything that differs from a run without kills. It must be empty. */
  faults: string[];
  deliveries: { expected: number; arrived: number; repeated: number };
  rows: { state: number; history: number };
}

export const dailyRegister = 'padron_reducido';
const publishTimeoutMs = 600_000;
const deliveryTimeoutMs = 180_000;

/**
 * Publishes two days of a register of `rows` rows. In the middle of each it kills the victims with -9 in turn and
 * starts them again; `secondDay` lists those of the second day. State, history and deliveries must end as in an
 * undisturbed run.
 */
export async function runChaos(
  rows: number,
  log: (line: string) => void,
  secondDay: readonly Victim[] = victims,
): Promise<ChaosReport> {
  const directory = mkdtempSync(path.join(tmpdir(), 'padron-chaos-'));
  try {
    return await runIn(directory, rows, log, secondDay);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function runIn(
  directory: string,
  rows: number,
  log: (line: string) => void,
  secondDay: readonly Victim[],
): Promise<ChaosReport> {
  const changes = { inserted: 30, deleted: 30, updated: 65 + Math.round(rows / 250) };
  const days = await writeTwoDays(path.join(directory, 'site'), rows, changes);
  let endedByItself: (error: Error) => void = () => undefined;
  const ended = new Promise<never>((_, reject) => {
    endedByItself = reject;
  });
  ended.catch(() => undefined); // nobody may wait for it yet
  const chain = await startChain({
    directory: path.join(directory, 'chain'),
    log,
    // Every process must live through the death of the others. Here nobody would start it again.
    onProcessEnd: (process) => endedByItself(new Error(`${process} ended by itself`)),
  });
  const pool = makePool(chain.stack.endpoints.DATABASE_URL, 'padron-chaos', 2);
  try {
    const watched = watchedInDailyRegister(days.watched);
    await chain.customer.createList(
      'Proveedores',
      watched.map(({ ruc }) => ruc),
    );
    const webhook = await chain.customer.createWebhook(`${chain.receiver.origin}/avisos`);
    chain.receiver.trust(webhook.secreto);
    const publishAll = async () => [
      ...(await publishUnderFire(chain, pool, days.first, 1, victims, log)),
      ...(await publishUnderFire(chain, pool, days.second, 2, secondDay, log)),
    ];
    return await inspect(chain, days, watched, await Promise.race([publishAll(), ended]));
  } finally {
    await pool.end();
    await chain.stop();
  }
}

async function publishUnderFire(
  chain: Chain,
  pool: Pool,
  day: PublishedDay,
  number: 1 | 2,
  targets: readonly Victim[],
  log: (line: string) => void,
) {
  let isFinal = false;
  // Only the daily register is published, because the others are too small to kill anything in their middle.
  const daily = { ...day, files: day.files.filter(({ register }) => register === dailyRegister) };
  const published = within(publishTimeoutMs, chain.publishDay(daily, log)).finally(() => {
    isFinal = true;
  });
  const kills: Kill[] = [];
  const fire = (async () => {
    await waitUntil(async () => isFinal || (await isUnderWay(pool, number)), 120_000);
    const returns: Promise<void>[] = [];
    for (const victim of targets) {
      const at = await whereItStands(pool, number);
      if (isFinal) break;
      log(
        `day ${number}: kill -9 ${victim} while the publication is ${at.publication}, materialised ${at.materialised}`,
      );
      kills.push({ day: number, victim, ...at });
      const back = killAndRestart(chain, victim);
      back.catch(() => undefined); // waited for below, where an error counts
      returns.push(back);
      // The consumers are back only when Kafka has given up the killed ones, after 30 s. The others die before that.
      await (victim === 'consumers' ? sleep(1_000) : back);
    }
    await Promise.all(returns);
  })();
  const [[row]] = await Promise.all([published, fire]);
  if (row?.state !== 'publicada') throw new Error(`day ${number} ended ${row?.state}: ${row?.state_reason}`);
  return kills;
}

async function killAndRestart(chain: Chain, victim: Victim): Promise<void> {
  const owner = victim === 'worker' || victim === 'consumers' ? chain.product : chain.stack;
  const host = owner as { kill(name: Victim): Promise<void>; restart(name: Victim): Promise<void> };
  await host.kill(victim);
  await sleep(500);
  await host.restart(victim);
}

async function isUnderWay(pool: Pool, edition: number): Promise<boolean> {
  return (await whereItStands(pool, edition)).publication === 'publicando';
}

/** How far the newest publication of the daily register is, and whether its edition is in ClickHouse. */
export async function whereItStands(
  pool: Pool,
  edition: number,
): Promise<{ publication: string; materialised: boolean }> {
  const { rows } = await pool.query<{ publication: string; materialised: boolean | null }>(
    `SELECT p.state AS publication, e.materializada_at IS NOT NULL AS materialised
     FROM publication p LEFT JOIN edition e ON e.publication_id = p.id AND e.number = $1
     WHERE p.register = $2 ORDER BY p.id DESC LIMIT 1`,
    [edition, dailyRegister],
  );
  return { publication: rows[0]?.publication ?? 'not seen yet', materialised: rows[0]?.materialised ?? false };
}

async function inspect(chain: Chain, days: TwoDays, watched: readonly Watched[], kills: Kill[]): Promise<ChaosReport> {
  const expected = watched.filter((company) => company.expected !== null).length;
  await waitUntil(() => faultsOf(watched, arrived(chain)).length === 0, deliveryTimeoutMs);
  // A delivery too many would arrive within this time.
  await sleep(3_000);
  const { faults, rows } = await inspectRegister(chain, days.second.daily, days.second.daily.changes);
  const editions = await padron<{ number: number }[]>(['editions', 'list'], chain.environment);
  return {
    kills,
    faults: [
      ...faults,
      ...faultsOf(watched, arrived(chain)),
      ...(editions.length === 2 ? [] : [`${editions.length} editions instead of 2`]),
    ],
    deliveries: {
      expected,
      arrived: chain.received.length,
      repeated: chain.received.length - new Set(chain.received.map(({ deliveryId }) => deliveryId)).size,
    },
    rows,
  };
}

/**
 * Compares the daily register in ClickHouse with its last publication, and its history with the changes of all days but
 * the first.
 */
export async function inspectRegister(chain: Chain, last: PublishedDay['daily'], changes: readonly TrueChange[]) {
  const { CLICKHOUSE_URL } = chain.stack.endpoints;
  const state = await readState(CLICKHOUSE_URL, dailyRegister);
  const history = await readHistory(CLICKHOUSE_URL, dailyRegister);
  const describe = ({ ruc, op }: { ruc: string; op: string }) => `${op} ${ruc}`;
  const missing = changes.map(describe);
  const tooMany: string[] = [];
  for (const change of history.map(describe)) {
    const at = missing.indexOf(change);
    if (at < 0) tooMany.push(change);
    else missing.splice(at, 1);
  }
  return {
    faults: [
      ...differences(await readPublication(last.path), state),
      ...tooMany.map((change) => `change too many: ${change}`),
      ...missing.map((change) => `change missing: ${change}`),
    ],
    rows: { state: state.size, history: history.length },
  };
}

// Look-ups on arrival are left to the end-to-end test, because here they may meet an engine that was just killed.
export function arrived(chain: Chain) {
  return chain.received.map((delivery) => ({ ...delivery, sawNewState: true }));
}

/** The companies whose expected event comes from the daily register, and the companies without an expected event. */
function watchedInDailyRegister(watched: readonly Watched[]): Watched[] {
  return watched.filter(({ expected }) => expected === null || !expected.campo.startsWith('es_'));
}

/**
 * `--rows N` (800,000, at least 3,000). Publishes two days of an invented register on a stack of its own; in the middle
 * of each it kills -9 the worker, the consumers, Kafka and the ClickHouse process, one after another, and starts each
 * again. Then it compares state, history and deliveries with an undisturbed run. Exit code 0 only if nothing differs.
 */
export async function run(args: string[]): Promise<void> {
  const startedAt = Date.now();
  const { kills, deliveries, rows, faults } = await runChaos(numberOption(args, 'rows', 800_000, 3_000), console.log);
  console.table(kills);
  console.log(
    `deliveries: ${deliveries.expected} expected, ${deliveries.arrived} arrived, ${deliveries.repeated} of them again under the same delivery id`,
  );
  console.log(`rows: ${rows.state} in the state, ${rows.history} changes in the history`);
  conclude(faults, startedAt);
}
