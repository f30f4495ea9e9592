import { gunzipSync } from 'node:zlib';
import { startSession } from '../../api/pages/sessions/sessions.ts';
import type { Stack } from '../../deploy/local/stack.ts';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { startApi } from '../support/api/process.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { describeMachine, quantile } from './figures.ts';
import { nameOf, rucOf } from './look-up-rows.ts';
import { serveTaxpayers } from './look-up-stage.ts';
import { onOwnStack } from './own-stack.ts';
import { ProcessWatch } from './process-watch.ts';
import { type SteadyCalls, startSteadyCallers } from './steady-callers.ts';

const goalP95Ms = 50;

/** Pages that people open, with a text that only the right page has. The last ones are a customer's. */
const pages = [
  { target: '/', expected: 'Una primera consulta' },
  { target: '/estado', expected: '<h1>Estado de los datos</h1>' },
  { target: '/estado/padron_reducido', expected: 'Padrón reducido del RUC</h1>' },
  { target: '/calendario', expected: '<h1>Calendario tributario</h1>' },
  { target: '/docs', expected: '<h1>Documentación</h1>' },
  { target: '/errores', expected: 'ruc_formato' },
  { target: '/consola/resumen', expected: 'padron_bench' },
  { target: '/consola/eventos', expected: '<h1>Eventos</h1>' },
  { target: '/consola/webhooks', expected: '<h1>Webhooks</h1>' },
];

/**
 * `--rows N` (200,000), `--seconds S` (20), `--views N` (200 pages a second), `--lookups N` (1,500 a second). Opens pages
 * and looks up companies at a steady rate on its own stack, first pages alone and then both. Browser, callers, API and
 * engines share the machine.
 */
export async function run(args: string[]): Promise<void> {
  const rows = numberOption(args, 'rows', 200_000);
  const rates = { views: numberOption(args, 'views', 200), lookups: numberOption(args, 'lookups', 1_500) };
  const seconds = numberOption(args, 'seconds', 20);
  console.log(`machine: ${describeMachine()}`);
  await onOwnStack('pages', ['postgres', 'clickhouse'], async ({ endpoints }: Stack) => {
    const [token] = await serveTaxpayers(endpoints, rows);
    const pool = makePool(endpoints.DATABASE_URL, 'bench', 1);
    const cookie = await startBenchSession(pool);
    await pool.end();
    const { CLICKHOUSE_URL, DATABASE_URL } = endpoints;
    const api = await startApi({ CLICKHOUSE_URL, DATABASE_URL });
    try {
      const load = { url: api.url, token: token!, cookie, rows };
      await measure(load, rates, 3);
      const alone = await measure(load, { ...rates, lookups: 0 }, seconds);
      const both = await measure(load, rates, seconds);
      conclude(alone, both);
    } finally {
      await api.stop();
    }
  });
}

interface Load {
  url: string;
  token: string;
  cookie: string;
  rows: number;
}

interface Figures {
  views: SteadyCalls;
  lookups: SteadyCalls;
  cpuSeconds: Map<string, number>;
  seconds: number;
}

/** Signs in as the account whose token looks up, and returns the cookie that a browser would send. */
async function startBenchSession(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ tokenId: string; accountId: number }>(
    'SELECT id AS "tokenId", account_id AS "accountId" FROM token ORDER BY id LIMIT 1',
  );
  return `padron_consola=${await startSession(pool, rows[0]!, { name: 'padron_bench', browser: 'bench' })}`;
}

async function measure(
  { url, token, cookie, rows }: Load,
  { views, lookups }: { views: number; lookups: number },
  seconds: number,
): Promise<Figures> {
  const end = { at: Date.now() + seconds * 1_000 };
  const watch = new ProcessWatch();
  let viewed = 0;
  const browserHeaders = `Cookie: ${cookie}\r\nAccept: text/html\r\nAccept-Encoding: gzip\r\n`;
  const view = () => {
    const { target, expected } = pages[viewed++ % pages.length]!;
    return { name: target, target, isRight: (answer: string) => pageOf(answer).includes(expected) };
  };
  const lookUp = () => {
    const number = Math.floor(Math.random() * rows);
    const ruc = rucOf(number, rows);
    const expected = `"data":{"ruc":"${ruc}","tipo":"20","nombre":"${nameOf(number)}"`;
    return { name: 'look-up', target: `/id/v1/ruc/${ruc}`, isRight: (answer: string) => answer.includes(expected) };
  };
  const [viewCalls, lookUpCalls] = await Promise.all([
    views === 0
      ? []
      : Promise.all(startSteadyCallers(url, browserHeaders, end, { perSecond: views, callers: 10 }, view)),
    lookups === 0
      ? []
      : Promise.all(
          startSteadyCallers(
            url,
            `Authorization: Bearer ${token}\r\n`,
            end,
            { perSecond: lookups, callers: 128 },
            lookUp,
          ),
        ),
  ]);
  const cpuSeconds = new Map([...watch.stop()].map(([name, used]) => [name, used.cpuSeconds]));
  return { views: joined(viewCalls), lookups: joined(lookUpCalls), cpuSeconds, seconds };
}

function joined(calls: readonly SteadyCalls[]): SteadyCalls {
  return {
    answered: calls.reduce((sum, each) => sum + each.answered, 0),
    wrong: calls.reduce((sum, each) => sum + each.wrong, 0),
    firstWrong: calls.find(({ firstWrong }) => firstWrong !== null)?.firstWrong ?? null,
    latencies: calls.flatMap(({ latencies }) => latencies),
  };
}

/** The page in an answer whose bytes stand as characters. */
function pageOf(answer: string): string {
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
  return /^content-encoding: gzip\r$/im.test(answer) ? gunzipSync(Buffer.from(body, 'latin1')).toString() : body;
}

function conclude(alone: Figures, both: Figures): void {
  print('pages alone', alone);
  for (const { target } of pages) {
    const ms = p95Of(alone.views.latencies.filter(({ name }) => name === target));
    console.log(`    ${target.padEnd(26)} p95 ${ms.toFixed(0).padStart(3)} ms`);
  }
  print('pages beside look-ups', both);
  const p95 = p95Of(both.views.latencies);
  const ratio = p95 / p95Of(alone.views.latencies);
  console.log(`\np95 of pages beside look-ups is ${ratio.toFixed(1)} × that of pages alone`);
  console.log(`goal p95 of pages ≤ ${goalP95Ms} ms: ${p95 <= goalP95Ms ? 'met' : 'missed'}`);
  if (both.views.wrong + both.lookups.wrong + alone.views.wrong > 0) process.exitCode = 1;
}

function p95Of(latencies: SteadyCalls['latencies']): number {
  return quantile(
    0.95,
    latencies.map(({ ms }) => ms),
  );
}

function print(title: string, { views, lookups, cpuSeconds, seconds }: Figures): void {
  console.log(`\n${title}, in ${seconds} s:`);
  for (const [name, calls] of Object.entries({ pages: views, 'look-ups': lookups })) {
    if (calls.answered === 0) continue;
    const [p50, p95, p99, max] = [0.5, 0.95, 0.99, 1].map((share) =>
      quantile(
        share,
        calls.latencies.map(({ ms }) => ms),
      ).toFixed(0),
    );
    const perSecond = Math.round(calls.answered / seconds);
    console.log(`  ${name}: ${perSecond}/s, ${calls.wrong} wrong; p50 ${p50}, p95 ${p95}, p99 ${p99}, max ${max} ms`);
    if (calls.firstWrong !== null) console.log(`    wrong first: ${calls.firstWrong}`);
  }
  console.log(`  CPU s: ${[...cpuSeconds].map(([name, used]) => `${name} ${used.toFixed(1)}`).join(', ')}`);
}
