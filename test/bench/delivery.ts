import { readFileSync } from 'node:fs';
import type { Endpoints } from '../../deploy/local/config.ts';
import { liftLimits, makeCaller, startApi } from '../support/api/process.ts';
import { fillPastDays } from '../support/delivery/past-days.ts';
import { type DeliveryStage, makeDeliveryStage } from '../support/delivery/stage.ts';
import { announceAtRate, holdDeliveries, makeWebhooks, resumeAll } from '../support/delivery/work.ts';
import { freshNamespace } from '../support/engines/isolation.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { makeWatchHarness } from '../support/watch/harness.ts';
import { run as runDays } from './daily.ts';
import { describeMachine, formatSpread, quantile, spreadOf } from './figures.ts';
import { onOwnStack } from './own-stack.ts';
import { ProcessWatch } from './process-watch.ts';

const goals = { perSecond: 4_000, p50Ms: 50, p99Ms: 100, growth: 1.2, readMs: 10, pauseMs: 100, resumeMs: 100 };
const perSecond = 200;
const sampleMs = 500;
const pageBytes = 4_096;

/**
 * `--endpoints N` (100), `--deliveries N` (20,000), `--seconds S` (20), `--runs K` (3), `--held N` (100,000), `--only
 * throughput|latency|hanging|held|operations|edition`. Measures one worker with the product's limits; PostgreSQL,
 * Temporal and the receivers share the machine. Every receiver uses HTTPS, and every delivery is signed, recorded and
 * kept. `operations` asks a running API for webhooks, pauses and resumes them, after `--days D` (395) with a delivery
 * each, `--calls N` (50) times. `edition` runs `bench -- daily --watched N` (10,000) with `--rows N` (300,000) and
 * `--rate N` (200), which measures the whole product from the download on.
 */
export async function run(args: string[]): Promise<void> {
  const only = args.includes('--only') ? args[args.indexOf('--only') + 1] : undefined;
  const wanted = (part: string) => only === undefined || only === part;
  const endpoints = numberOption(args, 'endpoints', 100);
  const seconds = numberOption(args, 'seconds', 20);
  const runs = numberOption(args, 'runs', 3);
  console.log(`machine: ${describeMachine()}`);
  if (['throughput', 'latency', 'hanging', 'held', 'operations'].some(wanted)) {
    await onOwnStack('delivery', ['postgres', 'temporal'], async (stack) => {
      const staged = async (work: (stage: DeliveryStage) => Promise<void>) => {
        const stage = await makeDeliveryStage(stack.endpoints);
        await work(stage).finally(() => stage.close());
      };
      const deliveries = numberOption(args, 'deliveries', 20_000);
      if (wanted('throughput')) await staged((stage) => throughput(stage, endpoints, deliveries, runs));
      if (wanted('latency')) await staged((stage) => latency(stage, endpoints, seconds, runs));
      if (wanted('hanging')) await staged((stage) => hanging(stage, endpoints, seconds, runs));
      if (wanted('held')) await staged((stage) => held(stage, endpoints, numberOption(args, 'held', 100_000)));
      const [days, calls] = [numberOption(args, 'days', 395), numberOption(args, 'calls', 50)];
      if (wanted('operations')) await operations(stack.endpoints, days, calls);
    });
  }
  if (wanted('edition')) {
    const numbers = {
      rows: numberOption(args, 'rows', 300_000),
      runs,
      watched: numberOption(args, 'watched', 10_000),
      rate: numberOption(args, 'rate', 200),
    };
    await runDays(Object.entries(numbers).flatMap(([name, number]) => [`--${name}`, String(number)]));
  }
}

async function throughput(stage: DeliveryStage, endpoints: number, deliveries: number, runs: number): Promise<void> {
  const each = Math.ceil(deliveries / endpoints);
  const rates: number[] = [];
  const watch = new ProcessWatch();
  for (let index = 0; index < runs; index += 1) {
    const webhooks = await makeWebhooks(stage, pathsOf(`t${index}`, endpoints));
    await holdDeliveries(stage, webhooks, each);
    const began = clock();
    await resumeAll(stage, webhooks);
    const last = await allArrived(stage, each * endpoints);
    rates.push((each * endpoints) / ((last - began) / 1_000));
  }
  print(`deliveries per second of one worker, ${endpoints} endpoints`, rates, (median) => median >= goals.perSecond, 0);
  const { handshakes } = await stage.take();
  const sent = each * endpoints * runs;
  console.log(
    `  CPU ms per delivery: ${cpuPerDelivery(watch, sent)}; ${handshakes} TLS handshakes for ${sent} deliveries`,
  );
}

async function latency(stage: DeliveryStage, endpoints: number, seconds: number, runs: number): Promise<void> {
  const found: number[][] = [];
  const webhooks = await makeWebhooks(stage, pathsOf('l', endpoints));
  await announceAndTime(stage, webhooks, 2); // warms up
  const watch = new ProcessWatch();
  for (let index = 0; index < runs; index += 1) found.push(await announceAndTime(stage, webhooks, seconds));
  const cpu = cpuPerDelivery(watch, perSecond * seconds * runs);
  const title = `look-up shows the change → first byte, at ${perSecond}/s (ms)`;
  print(
    `${title}, p50`,
    found.map((waits) => quantile(0.5, waits)),
    (median) => median <= goals.p50Ms,
    0,
  );
  print(
    `${title}, p99`,
    found.map((waits) => quantile(0.99, waits)),
    (median) => median <= goals.p99Ms,
    0,
  );
  console.log(`  CPU ms per delivery: ${cpu}; the bench's own is that of the consumer, in its place`);
}

/** Measures alternately with and without one endpoint that never answers, each warmed up as in `latency`. */
async function hanging(stage: DeliveryStage, endpoints: number, seconds: number, runs: number): Promise<void> {
  const paths = pathsOf('h', endpoints - 1);
  const quick = await makeWebhooks(stage, [...paths, '/h-last']);
  const mixed = await makeWebhooks(stage, [...paths.map((path) => `${path}-m`), '/hang']);
  const alone: number[] = [];
  const beside: number[] = [];
  const p99Of = async (webhooks: typeof quick) => {
    await announceAndTime(stage, webhooks, 2);
    return quantile(0.99, await announceAndTime(stage, webhooks, seconds));
  };
  for (let index = 0; index < runs; index += 1) {
    alone.push(await p99Of(quick));
    beside.push(await p99Of(mixed));
  }
  print(`p99 of all ${endpoints} endpoints when all answer (ms)`, alone, null, 0);
  print(`p99 of the others when one of ${endpoints} hangs (ms)`, beside, null, 0);
  const growth = spreadOf(beside).median / spreadOf(alone).median;
  console.log(`  grows × ${growth.toFixed(2)}, goal ≤ ${goals.growth}: ${growth <= goals.growth ? 'met' : 'missed'}`);
}

async function held(stage: DeliveryStage, endpoints: number, deliveries: number): Promise<void> {
  const each = Math.ceil(deliveries / endpoints);
  const webhooks = await makeWebhooks(stage, pathsOf('r', endpoints));
  await holdDeliveries(stage, webhooks, each);
  const rssMb: number[] = [];
  const timer = setInterval(() => rssMb.push(residentMb(stage.workerPid)), sampleMs);
  const began = clock();
  await resumeAll(stage, webhooks);
  const last = await allArrived(stage, each * endpoints);
  clearInterval(timer);
  const seconds = (last - began) / 1_000;
  console.log(`\n${each * endpoints} held deliveries resumed in ${seconds.toFixed(1)} s, each once`);
  const third = Math.max(1, Math.floor(rssMb.length / 3));
  const middle = (values: number[]) => spreadOf(values).median.toFixed(0);
  console.log(`  worker's memory MB, min / median / max: ${formatSpread(spreadOf(rssMb), 0)}`);
  console.log(
    `  median of its second and last third: ${middle(rssMb.slice(third, 2 * third))}, ${middle(rssMb.slice(-third))}`,
  );
}

/** Asks a running API, without a worker, about one webhook after the other. The first calls are measured too. */
async function operations(endpoints: Endpoints, days: number, calls: number): Promise<void> {
  const harness = await makeWatchHarness(endpoints);
  const { TEMPORAL_ADDRESS } = endpoints;
  const api = await startApi({
    DATABASE_URL: harness.databaseUrl,
    CLICKHOUSE_URL: 'http://127.0.0.1:1', // these operations do not ask ClickHouse
    TEMPORAL_ADDRESS,
    TEMPORAL_NAMESPACE: await freshNamespace(endpoints),
  });
  try {
    await liftLimits(harness.pool);
    const by = await makeCaller(harness.pool, api.url);
    const webhooks: { id: string; account: number }[] = [];
    for (let made = 0; made < 10; made += 1) {
      const { id } = await harness.webhook(by.accountId, 'https://93.184.216.34/avisos');
      webhooks.push({ id, account: by.accountId });
    }
    await fillPastDays(harness.pool, webhooks, days);
    const took: Record<'read' | 'pause' | 'resume', number[]> = { read: [], pause: [], resume: [] };
    const time = async (operation: keyof typeof took, method: string, path: string, json?: object) => {
      const began = clock();
      const response = await by.request(`/id/v1/watch/webhooks/${path}`, { method, json });
      const answer = await response.text();
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${answer}`);
      took[operation].push(clock() - began);
    };
    for (let call = 0; call < calls; call += 1) {
      const { id } = webhooks[call % webhooks.length]!;
      await time('read', 'GET', id);
      await time('pause', 'POST', `${id}/pausar`);
      await time('resume', 'POST', `${id}/reanudar`, { pendientes: 'todos' });
    }
    const title = `after ${days} days with deliveries (ms)`;
    print(`GET of a webhook ${title}`, took.read, (median) => median <= goals.readMs);
    print(`pause ${title}`, took.pause, (median) => median <= goals.pauseMs);
    print(`resume ${title}`, took.resume, (median) => median <= goals.resumeMs);
  } finally {
    await api.stop();
    await harness.close();
  }
}

/** Waits for all deliveries, checks that each arrived once, and returns when the last one did. */
async function allArrived(stage: DeliveryStage, count: number): Promise<number> {
  const arrivals = await stage.arrivals(count, 1_800_000);
  const distinct = new Set(arrivals.map(({ deliveryId }) => deliveryId)).size;
  if (arrivals.length !== count || distinct !== count) {
    throw new Error(`${arrivals.length} deliveries came, ${distinct} of them different, instead of ${count}`);
  }
  return Math.max(...arrivals.map(({ at }) => at));
}

/** The delays in ms of all answered deliveries. */
async function announceAndTime(
  stage: DeliveryStage,
  webhooks: readonly { account: number; path: string }[],
  seconds: number,
): Promise<number[]> {
  const accounts = webhooks.map(({ account }) => account);
  const shown = await announceAtRate(stage, accounts, perSecond, seconds);
  const rucs = [...shown.keys()];
  // In announceAtRate, company n belongs to the account n modulo the number of accounts.
  const answered = rucs.filter((_, index) => webhooks[index % webhooks.length]!.path !== '/hang');
  // A hanging endpoint is retried all the time, in between the others' deliveries.
  const isAnswered = ({ path }: { path: string }) => path !== '/hang';
  const found = (await stage.arrivals(answered.length, 30_000, isAnswered)).filter(isAnswered);
  const rucOf = await companiesOf(
    stage,
    found.map(({ deliveryId }) => deliveryId),
  );
  const waits = found.map(({ deliveryId, at }) => at - shown.get(rucOf.get(deliveryId)!)!);
  if (waits.length !== answered.length) throw new Error(`${waits.length} deliveries instead of ${answered.length}`);
  return waits;
}

async function companiesOf(stage: DeliveryStage, deliveries: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await stage.pool.query<{ id: string; ruc: string }>(
    'SELECT id, ruc FROM delivery WHERE id = ANY ($1)',
    [deliveries],
  );
  return new Map(rows.map(({ id, ruc }) => [id, ruc]));
}

function cpuPerDelivery(watch: ProcessWatch, deliveries: number): string {
  const each = [...watch.stop()].map(([name, { cpuSeconds }]) => [name, (cpuSeconds / deliveries) * 1_000] as const);
  return each.map(([name, ms]) => `${name} ${ms.toFixed(2)}`).join(', ');
}

function pathsOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `/${prefix}-${index}`);
}

function clock(): number {
  return performance.timeOrigin + performance.now();
}

function residentMb(pid: number): number {
  return (Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * pageBytes) / 1e6;
}

function print(
  title: string,
  values: readonly number[],
  isMet: ((median: number) => boolean) | null,
  digits = 1,
): void {
  const spread = spreadOf(values);
  const goal = isMet === null ? '' : `, goal ${isMet(spread.median) ? 'met' : 'missed'}`;
  console.log(`\n${title}, min / median / max: ${formatSpread(spread, digits)}${goal}`);
}
