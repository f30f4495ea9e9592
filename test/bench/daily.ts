import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Client } from '@temporalio/client';
import { type Follow, followFetch, followPublication } from '../../deploy/cli/publication-follow.ts';
import { type Chain, startChain } from '../../deploy/local/demo/chain.ts';
import type { PublishedDay } from '../../deploy/local/demo/register/day.ts';
import { makePool, type Pool } from '../../deploy/runtime/postgres.ts';
import { makeTemporal } from '../../deploy/runtime/temporal.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { defaultFetchCron, ensureSchedule, triggerFetch } from '../../workflows/publication/schedule.ts';
import { benchDays } from './daily-files.ts';
import { describeMachine, formatSpread, numberOption, spreadOf } from './figures.ts';
import { countLinesWithUnzip } from './peers/unzip.ts';
import { processName } from './process-names.ts';
import { type ProcessFigures, ProcessWatch } from './process-watch.ts';

const folder = resolve('.local/bench/daily');
const fullSize = 18_340_000;
const goalSeconds = 30;
const dayTimeoutMs = 3_600_000;
const startScheduleMs = 30_000;

/** One register on one day: from the end of its download. */
interface Timing {
  register: RegisterName;
  rows: number;
  changes: number;
  seconds: number;
}

interface MeasuredDay {
  timings: Timing[];
  /** From the end of the first download to the last materialised edition. */
  total: number;
  /** `unzip -p | wc -l` of the same day's daily file, right before. */
  peerSeconds: number;
  processes: Map<string, ProcessFigures>;
}

/**
 * `--rows N` (2,000,000), `--runs K` (3). Days of all registers on the whole product: end of download → materialised. Day 1
 * is loaded first and not measured; K normal days follow, then one on which a new month of the monthly register appears.
 */
export async function run(args: string[]): Promise<void> {
  const rows = numberOption(args, 'rows', 2_000_000);
  const runs = numberOption(args, 'runs', 3);
  console.log(`machine: ${describeMachine()}`);
  mkdirSync(folder, { recursive: true });
  const days = await benchDays(rows, runs + 2, resolve('.local/bench/daily-files'));
  const chain = await startChain({ directory: folder, log: () => undefined });
  const pool = makePool(chain.stack.endpoints.DATABASE_URL, 'bench', 2);
  const client = await makeTemporal(chain.stack.endpoints.TEMPORAL_ADDRESS, 'default');
  try {
    const started = performance.now();
    await publish(chain, pool, client, days[0]!);
    console.log(`day 1 loaded in ${((performance.now() - started) / 1000).toFixed(0)} s (not measured)`);
    const measured: MeasuredDay[] = [];
    for (const day of days.slice(1)) measured.push(await measure(chain, pool, client, day));
    print(`${runs} normal days of ${rows} rows`, measured.slice(0, -1));
    print('the day of a new month', measured.slice(-1));
    printGoal(rows, measured.slice(0, -1));
  } finally {
    await client.connection.close();
    await pool.end();
    await chain.stop();
  }
}

async function measure(chain: Chain, pool: Pool, client: Client, day: PublishedDay): Promise<MeasuredDay> {
  const { seconds: peerSeconds } = await countLinesWithUnzip(day.daily.path);
  const watch = new ProcessWatch(processName);
  const ids = await publish(chain, pool, client, day);
  const processes = watch.stop();
  const { rows } = await pool.query<Omit<Timing, 'seconds'> & { downloaded: Date; materialised: Date }>(
    `SELECT p.register, p.rows::float8 AS rows, e.changes::float8 AS changes, p.downloaded_at AS downloaded,
       e.materializada_at AS materialised
     FROM publication p JOIN edition e ON e.publication_id = p.id WHERE p.id = ANY ($1) ORDER BY p.rows DESC`,
    [ids],
  );
  const between = (from: number, to: number) => (to - from) / 1000;
  const timings = rows.map(({ downloaded, materialised, ...facts }) => ({
    ...facts,
    seconds: between(downloaded.getTime(), materialised.getTime()),
  }));
  const first = Math.min(...rows.map(({ downloaded }) => downloaded.getTime()));
  const last = Math.max(...rows.map(({ materialised }) => materialised.getTime()));
  return { timings, total: between(first, last), peerSeconds, processes };
}

/** Has all registers of the day asked for at once, as the schedule does, without commands that would take CPU meanwhile. */
async function publish(chain: Chain, pool: Pool, client: Client, day: PublishedDay): Promise<number[]> {
  chain.site.show(day);
  const follow: Follow = { pool, client, note: () => undefined, deadline: Date.now() + dayTimeoutMs };
  return Promise.all(
    day.files.map(async ({ register }) => {
      const schedule = await ensureSchedule(client, register, { cron: defaultFetchCron });
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
  for (const { register, rows, changes } of days[0]!.timings) {
    const seconds = spread((day) => day.timings.find((timing) => timing.register === register)!.seconds);
    const facts = `${rows.toLocaleString('en')} rows, ${changes.toLocaleString('en')} changes`;
    console.log(`  ${register.padEnd(32)} ${seconds.padEnd(22)} ${facts}`);
  }
  console.log(`  ${'all'.padEnd(32)} ${spread((day) => day.total)}`);
  console.log(`  ${'unzip -p | wc -l of the daily file'.padEnd(32)} ${spread(({ peerSeconds }) => peerSeconds)}`);
  console.log(`  ratio of the daily register to it   ${spread(dailyRatio)}`);
  console.log(`\n  process        CPU s a day            peak MB`);
  for (const name of days[0]!.processes.keys()) {
    const cpu = spread(({ processes }) => processes.get(name)?.cpuSeconds ?? 0);
    const peak = Math.max(...days.map(({ processes }) => processes.get(name)?.peakRssMb ?? 0));
    console.log(`  ${name.padEnd(14)} ${cpu.padEnd(22)} ${peak.toFixed(0).padStart(7)}`);
  }
}

function dailySeconds({ timings }: MeasuredDay): number {
  return timings.find(({ register }) => register === 'padron_reducido')!.seconds;
}

function dailyRatio(day: MeasuredDay): number {
  return dailySeconds(day) / day.peerSeconds;
}

function printGoal(rows: number, days: readonly MeasuredDay[]): void {
  if (rows !== fullSize) return;
  const { median } = spreadOf(days.map(dailySeconds));
  const outcome = median <= goalSeconds ? 'met' : 'missed';
  console.log(`\ngoal for the daily register ${goalSeconds} s: ${outcome} with ${median.toFixed(1)} s (median)`);
}
