import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Client } from '@temporalio/client';
import { type Follow, followFetch, followPublication } from '../../deploy/cli/publications/follow.ts';
import { type Chain, startChain } from '../../deploy/local/demo/chain.ts';
import type { PublishedDay } from '../../deploy/local/demo/register/day.ts';
import { populationOf, rucOfIndex, type TrueChange } from '../../deploy/local/demo/register/population.ts';
import { makeClickhouse } from '../../pipelines/runtime/clickhouse.ts';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { makeTemporal } from '../../pipelines/runtime/temporal.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { isCompany } from '../../schemas/ruc.ts';
import { defaultSchedules, ensureSchedule, triggerFetch } from '../../workflows/publication/schedule.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { benchDays } from './daily-files.ts';
import { defaultRate, Watchers } from './daily-watchers.ts';
import { seed } from './diff.ts';
import { describeMachine, formatSpread, spreadOf } from './figures.ts';
import { measureCommand } from './operator-command.ts';
import { countLinesWithUnzip } from './peers/unzip.ts';
import { type ProcessFigures, ProcessWatch } from './process-watch.ts';
import { printStoreSizes } from './store-sizes.ts';

const folder = resolve('.local/bench/daily');
const fullSize = 18_340_000;
const goals = { materialised: 30, lastDelivery: 60, afterServed: 5 };
const register = 'padron_reducido';
const commands = ['verify', 'rebuild'];
const dayTimeoutMs = 3_600_000;
const startScheduleMs = 30_000;
const sizeQuestion = { requestTimeoutMs: 60_000, connections: 1 };

/** The times of one register on one day, measured from the end of its download. */
interface Timing {
  register: RegisterName;
  edition: { number: number; detectedAt: Date };
  rows: number;
  changes: number;
  downloaded: Date;
  seconds: number;
}

interface MeasuredDay {
  timings: Timing[];
  /** Seconds from the end of the first download to the last materialised edition. */
  total: number;
  /**
   * Deliveries of the daily register, and seconds from the end of its download to the last one. Zero if nobody watches.
   */
  deliveries: { count: number; seconds: number };
  /** Seconds that `unzip -p | wc -l` took on the same day's daily file, measured just before. */
  peerSeconds: number;
  processes: Map<string, ProcessFigures>;
}

/**
 * `--rows N` (2,000,000), `--runs K` (3), `--watched N` (nobody watches), `--rate N` (20, the most requests per second
 * of each webhook), `--members N` (list members in all; by default only companies that change), `--verify`,
 * `--rebuild`. Publishes days of all registers on the whole product and measures the time from the end of the download
 * until the edition is materialised, and until the last of each day's N deliveries. Day 1 is not measured; K normal
 * days follow, then one with a new month of the monthly register. Afterwards it prints what the stores hold, and
 * measures the operators' commands on the daily register.
 */
export async function run(args: string[]): Promise<void> {
  const rows = numberOption(args, 'rows', 2_000_000);
  const runs = numberOption(args, 'runs', 3);
  const watched = args.includes('--watched') ? numberOption(args, 'watched', 10_000) : 0;
  const members = args.includes('--members') ? numberOption(args, 'members', 1_000_000) : 0;
  console.log(`machine: ${describeMachine()}`);
  rmSync(folder, { recursive: true, force: true });
  const days = await benchDays(rows, runs + 2, resolve('.local/bench/daily-files'));
  await onStage(folder, async (stage) => {
    const started = performance.now();
    await publish(stage, days[0]!);
    console.log(`day 1 loaded in ${((performance.now() - started) / 1000).toFixed(0)} s (not measured)`);
    const later = days.slice(1);
    if (watched > 0) {
      const changes = later.map(({ daily }) => daily.changes);
      await stage.watchers.subscribe(stage.pool, changes, {
        deliveries: watched,
        perSecond: numberOption(args, 'rate', defaultRate),
        members,
        others: members === 0 ? [] : unchangedCompanies(rows, changes),
      });
    }
    const measured: MeasuredDay[] = [];
    for (const day of later) measured.push(await measure(stage, day));
    print(`${runs} normal days of ${rows} rows`, measured.slice(0, -1));
    print('the day of a new month', measured.slice(-1));
    printGoals(rows, measured.slice(0, -1));
    const clickhouse = makeClickhouse(stage.chain.stack.endpoints.CLICKHOUSE_URL, 'bench', sizeQuestion);
    await printStoreSizes('stores', { directory: join(folder, 'chain', 'engines'), clickhouse, pool: stage.pool });
    await clickhouse.close();
    for (const command of commands) {
      if (args.includes(`--${command}`)) await measureCommand(stage.chain, [command, '--register', register]);
    }
  });
  rmSync(folder, { recursive: true, force: true });
}

/** Companies of day 1 that none of the days changes. */
function unchangedCompanies(rows: number, days: readonly (readonly TrueChange[])[]): string[] {
  const population = populationOf(rows, seed);
  const changed = new Set(days.flat().map(({ ruc }) => ruc));
  const all = Array.from({ length: rows }, (_, index) => rucOfIndex(population, index));
  return all.filter((ruc) => isCompany(ruc) && !changed.has(ruc));
}

/** A running product with what a bench needs beside it. */
export interface Stage {
  chain: Chain;
  pool: Pool;
  client: Client;
  watchers: Watchers;
}

/** Starts the whole product with customers' receivers, below the folder, and stops them after the work. */
export async function onStage(folder: string, work: (stage: Stage) => Promise<void>): Promise<void> {
  const watchers = await Watchers.start(folder);
  const { environment } = watchers;
  const chain = await startChain({ directory: join(folder, 'chain'), log: () => undefined, environment });
  const pool = makePool(chain.stack.endpoints.DATABASE_URL, 'bench', 2);
  const client = await makeTemporal(chain.stack.endpoints.TEMPORAL_ADDRESS, 'default');
  try {
    await work({ chain, pool, client, watchers });
  } finally {
    await client.connection.close();
    await pool.end();
    await chain.stop();
    await watchers.stop();
  }
}

async function measure(stage: Stage, day: PublishedDay): Promise<MeasuredDay> {
  const { seconds: peerSeconds } = await countLinesWithUnzip(day.daily.path);
  const watch = new ProcessWatch();
  const ids = await publish(stage, day);
  const { rows } = await stage.pool.query<
    Omit<Timing, 'edition' | 'seconds'> & { number: number; detected: Date; materialised: Date }
  >(
    `SELECT p.register, e.number, e.detected_at AS detected, p.rows::float8 AS rows, e.changes::float8 AS changes,
       p.downloaded_at AS downloaded, e.materializada_at AS materialised
     FROM publication p JOIN edition e ON e.publication_id = p.id WHERE p.id = ANY ($1) ORDER BY p.rows DESC`,
    [ids],
  );
  const timings = rows.map(({ number, detected, materialised, ...facts }) => ({
    ...facts,
    edition: { number, detectedAt: detected },
    seconds: (materialised.getTime() - facts.downloaded.getTime()) / 1000,
  }));
  const first = Math.min(...rows.map(({ downloaded }) => downloaded.getTime()));
  const last = Math.max(...rows.map(({ materialised }) => materialised.getTime()));
  const { edition, downloaded } = dailyOf(timings);
  const { deliveries: count, lastAt } = await stage.watchers.allDeliveries(day.daily.changes, edition);
  const deliveries = { count, seconds: (lastAt - downloaded.getTime()) / 1000 };
  return { timings, total: (last - first) / 1000, deliveries, peerSeconds, processes: watch.stop() };
}

/** Triggers the fetch of all registers at once, as the schedule does, without commands that would use CPU meanwhile. */
export async function publish({ chain, pool, client }: Stage, day: PublishedDay): Promise<number[]> {
  chain.site.show(day);
  const follow: Follow = { pool, client, note: () => undefined, deadline: Date.now() + dayTimeoutMs };
  return Promise.all(
    day.files.map(async ({ register }) => {
      const schedule = await ensureSchedule(client, register, defaultSchedules);
      const { publicationId } = await followFetch(follow, await triggerFetch(schedule, startScheduleMs));
      if (publicationId === null) throw new Error(`${register}: the site had nothing new`);
      const { state, state_reason } = await followPublication(follow, publicationId);
      if (state !== 'publicada') throw new Error(`${register} ended ${state}: ${state_reason}`);
      return publicationId;
    }),
  );
}

function print(title: string, days: readonly MeasuredDay[]): void {
  const spread = (of: (day: MeasuredDay) => number) => formatSpread(spreadOf(days.map(of)));
  console.log(`\n${title}: end of download → materialised, all registers at once (s, min / median / max)`);
  for (const { register: name, rows, changes } of days[0]!.timings) {
    const seconds = spread((day) => day.timings.find((timing) => timing.register === name)!.seconds);
    const facts = `${rows.toLocaleString('en')} rows, ${changes.toLocaleString('en')} changes`;
    console.log(`  ${name.padEnd(32)} ${seconds.padEnd(22)} ${facts}`);
  }
  console.log(`  ${'all'.padEnd(32)} ${spread((day) => day.total)}`);
  const { count } = days[0]!.deliveries;
  if (count > 0) {
    const title = `→ last of ${count.toLocaleString('en')} deliveries`;
    console.log(`  ${title.padEnd(32)} ${spread(({ deliveries }) => deliveries.seconds)}`);
    const isMet = spreadOf(days.map(afterServed)).median <= goals.afterServed;
    const goal = `goal ≤ ${goals.afterServed}: ${isMet ? 'met' : 'missed'}`;
    console.log(`  ${'materialised → last of them'.padEnd(32)} ${spread(afterServed).padEnd(22)} ${goal}`);
  }
  console.log(`  ${'unzip -p | wc -l of the daily file'.padEnd(32)} ${spread(({ peerSeconds }) => peerSeconds)}`);
  console.log(`  ratio of the daily register to it   ${spread(dailyRatio)}`);
  console.log(`\n  process        CPU s a day            peak MB`);
  for (const name of days[0]!.processes.keys()) {
    const cpu = spread(({ processes }) => processes.get(name)?.cpuSeconds ?? 0);
    const peak = Math.max(...days.map(({ processes }) => processes.get(name)?.peakRssMb ?? 0));
    console.log(`  ${name.padEnd(14)} ${cpu.padEnd(22)} ${peak.toFixed(0).padStart(7)}`);
  }
}

function dailyOf(timings: readonly Timing[]): Timing {
  return timings.find((timing) => timing.register === register)!;
}

/** Seconds from the time when look-ups show the daily register's edition to its last delivery. */
function afterServed({ timings, deliveries }: MeasuredDay): number {
  return deliveries.seconds - dailyOf(timings).seconds;
}

function dailyRatio(day: MeasuredDay): number {
  return dailyOf(day.timings).seconds / day.peerSeconds;
}

function printGoals(rows: number, days: readonly MeasuredDay[]): void {
  if (rows !== fullSize) return;
  const judge = (title: string, of: (day: MeasuredDay) => number, goal: number) => {
    const { median } = spreadOf(days.map(of));
    console.log(
      `goal for the daily register ${title} ${goal} s: ${median <= goal ? 'met' : 'missed'} with ${median.toFixed(1)} s`,
    );
  };
  judge('materialised', ({ timings }) => dailyOf(timings).seconds, goals.materialised);
  if (days[0]!.deliveries.count > 0)
    judge('delivered to the last', ({ deliveries }) => deliveries.seconds, goals.lastDelivery);
}
