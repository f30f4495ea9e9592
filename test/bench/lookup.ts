import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createAccount } from '../../api/accounts/accounts.ts';
import { createToken } from '../../api/accounts/tokens.ts';
import { type Stack, startStack } from '../../deploy/local/stack.ts';
import { makeClickhouse } from '../../deploy/runtime/clickhouse.ts';
import { migrateClickhouse, migratePostgres } from '../../deploy/runtime/migrate.ts';
import { makePool } from '../../deploy/runtime/postgres.ts';
import { liftLimits, type RunningApi, startApi } from '../support/api.ts';
import { insertEdition } from '../support/served-register.ts';
import { describeMachine, numberOption } from './figures.ts';
import { type CallFigures, callFor, type Look } from './look-up-callers.ts';
import { loadedRegisters, loadTaxpayers, nameOf, rucOf } from './look-up-rows.ts';
import { ProcessWatch } from './process-watch.ts';

const folder = resolve('.local/bench/lookup');
const callers = 64;
const firstDay = '2026-11-25';
const goal = { perSecond: 3_000, p99Ms: 50, pastRatio: 3 };

/**
 * `--rows N` (2,000,000), `--seconds S` (10). Uncached look-ups of random RUCs through the API at 64 callers, records made of
 * four registers, on a stack of its own; beside it the same as of a day before some of them changed, and the same API with one
 * ClickHouse query per look-up. Callers, API and engines share the machine.
 */
export async function run(args: string[]): Promise<void> {
  const rows = numberOption(args, 'rows', 2_000_000);
  const seconds = numberOption(args, 'seconds', 10);
  console.log(`machine: ${describeMachine()}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const stack = await startStack({
    directory: join(folder, 'stack'),
    engines: ['postgres', 'clickhouse'],
    addresses: {},
  });
  try {
    const token = await prepare(stack, rows);
    const figures = await measure(stack, token, rows, seconds, {});
    const peer = await measure(stack, token, rows, seconds, {
      LOOKUP_MAX_KEYS: '1',
      LOOKUP_IN_FLIGHT: String(callers),
    });
    const past = await measure(stack, token, rows, seconds, {}, `?fecha=${firstDay}`);
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
  } finally {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function prepare({ endpoints }: Stack, rows: number): Promise<string> {
  await migratePostgres(endpoints.DATABASE_URL);
  await migrateClickhouse(endpoints.CLICKHOUSE_URL);
  const clickhouse = makeClickhouse(endpoints.CLICKHOUSE_URL, 'bench', { requestTimeoutMs: 600_000, connections: 1 });
  const startedAt = performance.now();
  const parts = await loadTaxpayers(clickhouse, rows);
  const took = ((performance.now() - startedAt) / 1_000).toFixed(1);
  console.log(
    `${rows} companies, half of them in the monthly register too, made by SQL in the packed table in ${took} s, ${parts} parts`,
  );
  await clickhouse.close();
  const pool = makePool(endpoints.DATABASE_URL, 'bench', 1);
  for (const register of loadedRegisters) await insertEdition(pool, { register, number: 1, fechaDato: firstDay });
  await insertEdition(pool, { number: 2, fechaDato: '2026-11-26', sha256: 'cd'.repeat(32) });
  await liftLimits(pool);
  const account = await createAccount(pool, { name: 'bench', plan: 'empresa', email: null, contract: null });
  const made = await createToken(pool, account);
  await pool.end();
  return made!.token;
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
  token: string,
  rows: number,
  seconds: number,
  settings: Record<string, string>,
  query = '',
): Promise<Figures> {
  const { CLICKHOUSE_URL, DATABASE_URL } = endpoints;
  const api: RunningApi = await startApi({ CLICKHOUSE_URL, DATABASE_URL, ...settings });
  try {
    const next = () => lookOf(Math.floor(Math.random() * rows), rows, query);
    await callFor(api.url, token, next, { callers, warmUpSeconds: 0, seconds: 3 });
    const watch = new ProcessWatch(processName);
    const calls = await callFor(api.url, token, next, { callers, warmUpSeconds: 0, seconds });
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

function processName(command: string): string {
  if (/api\/main/.test(command)) return 'api';
  if (/clickhouse\/main/.test(command)) return 'clickhouse';
  return /postgres/.test(command) ? 'postgres' : 'callers';
}

function print(title: string, { calls, cpuSeconds }: Figures): void {
  const perSecond = Math.round(calls.served / calls.seconds);
  console.log(`\n${title}: ${perSecond}/s, p50 ${calls.p50Ms.toFixed(1)} ms, p99 ${calls.p99Ms.toFixed(1)} ms`);
  const cpu = [...cpuSeconds].map(([name, used]) => `${name} ${Math.round((used / calls.served) * 1e6)}`);
  console.log(`  ${calls.served} answers, ${calls.wrong} wrong; CPU µs per look-up: ${cpu.join(', ')}`);
}
