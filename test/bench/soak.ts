import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PublishedDay } from '../../deploy/local/demo/register/day.ts';
import { populationOf, rucOfIndex, taxpayerOn } from '../../deploy/local/demo/register/population.ts';
import { isCompany } from '../../schemas/ruc.ts';
import { numberOption, OptionError } from '../support/process/named-runs.ts';
import { onStage, publish, type Stage } from './daily.ts';
import { benchDays } from './daily-files.ts';
import { seed } from './diff.ts';
import { describeMachine } from './figures.ts';
import { unlimitedToken } from './own-stack.ts';
import { ProcessWatch } from './process-watch.ts';
import { SoakSamples } from './soak-samples.ts';
import { startSteadyCallers } from './steady-callers.ts';

const folder = resolve('.local/bench/soak');
const sampleMs = 5_000;
/** Days that the invented register has. */
const maxDays = 60;
const companies = 20_000;
const judgedFromMs = 20 * 60_000;

interface Company {
  ruc: string;
  name: string;
}

/**
 * `--minutes M` (60), `--rows N` (200,000), `--lookups N` (500 a second), `--searches N` (5 a second), `--edition-minutes
 * E` (3), `--watched N` (2,000 deliveries an edition). Runs the whole product at a steady load, and prints how memory,
 * open files and connections of each process went, as medians of twelve parts of the time. Ends with code 1 when one of
 * the product's processes grows, an answer is wrong, or a delivery is missing or comes twice. A run under 20 minutes does
 * not judge growth, because caches are still filling.
 */
export async function run(args: string[]): Promise<void> {
  const minutes = numberOption(args, 'minutes', 60);
  const everyMinutes = numberOption(args, 'edition-minutes', 3);
  const rows = numberOption(args, 'rows', 200_000);
  const editions = Math.ceil(minutes / everyMinutes);
  if (editions + 1 > maxDays)
    throw new OptionError(`There are at most ${maxDays - 1} editions: take more minutes each.`);
  console.log(`machine: ${describeMachine()}`);
  rmSync(folder, { recursive: true, force: true });
  const days = await benchDays(rows, editions + 1, resolve('.local/bench/daily-files'));
  await onStage(folder, async (stage) => {
    await publish(stage, days[0]!);
    const later = days.slice(1);
    const deliveries = numberOption(args, 'watched', 2_000);
    const changes = later.map(({ daily }) => daily.changes);
    await stage.watchers.subscribe(stage.pool, changes, { deliveries, perSecond: 200 });
    const rates = { lookups: numberOption(args, 'lookups', 500), searches: numberOption(args, 'searches', 5) };
    await load(stage, later, everyMinutes * 60_000, sampleOf(rows), rates);
  });
  rmSync(folder, { recursive: true, force: true });
}

async function load(
  stage: Stage,
  days: readonly PublishedDay[],
  everyMs: number,
  sample: readonly Company[],
  rates: { lookups: number; searches: number },
): Promise<void> {
  const token = await unlimitedToken(stage.pool);
  const end = { at: Date.now() + days.length * everyMs };
  const samples = new SoakSamples(stage.pool, sampleMs);
  const watch = new ProcessWatch();
  const pick = () => sample[Math.floor(Math.random() * sample.length)]!;
  const lookUp = () => {
    const { ruc } = pick();
    return {
      name: 'look-up',
      target: `/id/v1/ruc/${ruc}`,
      isRight: (answer: string) => answer.includes(`"data":{"ruc":"${ruc}"`),
    };
  };
  const search = () => {
    const { name } = pick();
    const target = `/id/v1/ruc/buscar?${new URLSearchParams({ q: name })}`;
    return { name: 'search', target, isRight: (answer: string) => answer.includes('"success":true') };
  };
  const { apiUrl } = stage.chain.product;
  const head = `Authorization: Bearer ${token}\r\n`;
  const callers = Promise.all([
    ...startSteadyCallers(apiUrl, head, end, { perSecond: rates.lookups, callers: 20 }, lookUp),
    ...startSteadyCallers(apiUrl, head, end, { perSecond: rates.searches, callers: 2 }, search),
  ]);
  // When an edition fails, the product is stopped. The callers' broken connections must not hide the reason.
  callers.catch(() => undefined);
  let deliveries = 0;
  let late = 0;
  for (const [index, day] of days.entries()) {
    const nextAt = end.at - (days.length - index - 1) * everyMs;
    deliveries += await announce(stage, day);
    if (Date.now() > nextAt) late += 1;
    console.log(`  edition ${index + 2} of ${days.length + 1} served and delivered`);
    await sleep(Math.max(0, nextAt - Date.now()));
  }
  end.at = 0;
  const calls = await callers;
  const total = (of: 'answered' | 'wrong') => calls.reduce((sum, each) => sum + each[of], 0);
  const cpu = [...watch.stop()].map(([name, { cpuSeconds }]) => `${name} ${cpuSeconds.toFixed(0)}`);
  const { curves, growing } = samples.stop();
  console.log(`\n${total('answered')} answers, ${total('wrong')} wrong; ${deliveries} deliveries, each once`);
  for (const { firstWrong } of calls) if (firstWrong !== null) console.log(`  wrong: ${firstWrong}`);
  console.log(`${days.length} editions, ${late} of them later than the next was due; CPU s: ${cpu.join(', ')}`);
  console.log(`medians of twelve parts of the time:\n${curves.join('\n')}`);
  const isJudged = days.length * everyMs >= judgedFromMs;
  if (isJudged) console.log(growing.length === 0 ? 'nothing grows' : `grows: ${growing.join(', ')}`);
  if ((isJudged && growing.length > 0) || total('wrong') > 0) process.exitCode = 1;
}

/** Publishes a day and waits for all its deliveries. @throws Error if one is missing or comes twice */
async function announce(stage: Stage, day: PublishedDay): Promise<number> {
  const ids = await publish(stage, day);
  const { rows } = await stage.pool.query<{ number: number; detectedAt: Date }>(
    `SELECT e.number, e.detected_at AS "detectedAt" FROM edition e
     WHERE e.publication_id = ANY ($1) AND e.register = 'padron_reducido'`,
    [ids],
  );
  return (await stage.watchers.allDeliveries(day.daily.changes, rows[0]!)).deliveries;
}

/** Companies that the register keeps on all days. Only those with even indices change, and they are never deleted. */
function sampleOf(rows: number): Company[] {
  const population = populationOf(rows, seed);
  const found: Company[] = [];
  for (let index = 0; index < rows && found.length < companies; index += 2) {
    const ruc = rucOfIndex(population, index);
    if (isCompany(ruc)) found.push({ ruc, name: taxpayerOn(population, index, 1).cells[0]! });
  }
  return found;
}
