import type { Stack } from '../../deploy/local/stack.ts';
import { type RunningApi, startApi } from '../support/api/process.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { describeMachine } from './figures.ts';
import { type CallFigures, callFor, type Look } from './look-up-callers.ts';
import { nameOf, rucOf } from './look-up-rows.ts';
import { firstDay, serveTaxpayers } from './look-up-stage.ts';
import { onOwnStack } from './own-stack.ts';
import { ProcessWatch } from './process-watch.ts';

const callers = 64;
const goal = { perSecond: 5_000, p99Ms: 50, pastRatio: 3 };

/**
 * `--rows N` (2,000,000), `--seconds S` (10), `--accounts N` (1). Looks up random uncached RUCs through the API with 64
 * callers of N accounts on its own stack; records are made of four registers. It also measures look-ups as of a day before some companies changed, and
 * the API with one ClickHouse query per look-up. Callers, API and engines share the machine.
 */
export async function run(args: string[]): Promise<void> {
  const rows = numberOption(args, 'rows', 2_000_000);
  const seconds = numberOption(args, 'seconds', 10);
  const accounts = numberOption(args, 'accounts', 1);
  console.log(`machine: ${describeMachine()}`);
  await onOwnStack('lookup', ['postgres', 'clickhouse'], async (stack) => {
    const tokens = await serveTaxpayers(stack.endpoints, rows, accounts);
    const figures = await measure(stack, tokens, rows, seconds, {});
    const peer = await measure(stack, tokens, rows, seconds, {
      LOOKUP_MAX_KEYS: '1',
      LOOKUP_IN_FLIGHT: String(callers),
    });
    const past = await measure(stack, tokens, rows, seconds, {}, `?fecha=${firstDay}`);
    print('batched look-ups', figures);
    print(`as of ${firstDay}, where a third of the companies had another row`, past);
    print('peer: one query per look-up', peer);
    const perSecond = figures.calls.served / figures.calls.seconds;
    const pastRatio = perSecond / (past.calls.served / past.calls.seconds);
    const ratio = perSecond / (peer.calls.served / peer.calls.seconds);
    const isMet = perSecond >= goal.perSecond && figures.calls.p99Ms <= goal.p99Ms;
    console.log(`\n${ratio.toFixed(1)} × the peer's rate`);
    console.log(`goal ${goal.perSecond}/s at p99 ≤ ${goal.p99Ms} ms: ${met(isMet)}`);
    console.log(
      `as of a day: ${pastRatio.toFixed(1)} × the cost, goal ≤ ${goal.pastRatio}: ${met(pastRatio <= goal.pastRatio)}`,
    );
    if (figures.calls.wrong + past.calls.wrong + peer.calls.wrong > 0) process.exitCode = 1;
  });
}

function met(isMet: boolean): string {
  return isMet ? 'met' : 'missed';
}

interface Figures {
  calls: CallFigures;
  cpuSeconds: Map<string, number>;
}

async function measure(
  { endpoints }: Stack,
  tokens: readonly string[],
  rows: number,
  seconds: number,
  settings: Record<string, string>,
  query = '',
): Promise<Figures> {
  const { CLICKHOUSE_URL, DATABASE_URL } = endpoints;
  const api: RunningApi = await startApi({ CLICKHOUSE_URL, DATABASE_URL, ...settings });
  try {
    const next = () => lookOf(Math.floor(Math.random() * rows), rows, query);
    await callFor(api.url, tokens, next, { callers, warmUpSeconds: 0, seconds: 3 });
    const watch = new ProcessWatch();
    const calls = await callFor(api.url, tokens, next, { callers, warmUpSeconds: 0, seconds });
    const cpuSeconds = new Map([...watch.stop()].map(([name, figures]) => [name, figures.cpuSeconds]));
    return { calls, cpuSeconds };
  } finally {
    await api.stop();
  }
}

function lookOf(number: number, rows: number, query: string): Look {
  const ruc = rucOf(number, rows);
  return { ruc: `${ruc}${query}`, expected: `"data":{"ruc":"${ruc}","tipo":"20","nombre":"${nameOf(number)}"` };
}

function print(title: string, { calls, cpuSeconds }: Figures): void {
  const perSecond = Math.round(calls.served / calls.seconds);
  console.log(`\n${title}: ${perSecond}/s, p50 ${calls.p50Ms.toFixed(1)} ms, p99 ${calls.p99Ms.toFixed(1)} ms`);
  const cpu = [...cpuSeconds].map(([name, used]) => `${name} ${Math.round((used / calls.served) * 1e6)}`);
  console.log(`  ${calls.served} answers, ${calls.wrong} wrong; CPU µs per look-up: ${cpu.join(', ')}`);
}
