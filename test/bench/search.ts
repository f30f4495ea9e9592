import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import type { Stack } from '../../deploy/local/stack.ts';
import { makeClickhouse } from '../../pipelines/runtime/clickhouse.ts';
import { migrateClickhouse, migratePostgres } from '../../pipelines/runtime/migrate.ts';
import { makePool } from '../../pipelines/runtime/postgres.ts';
import { foldName } from '../../schemas/names/fold.ts';
import { type RunningApi, startApi } from '../support/api/process.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { insertEdition } from '../support/registers/served-register.ts';
import { describeMachine, quantile } from './figures.ts';
import { onOwnStack, unlimitedToken } from './own-stack.ts';
import { ProcessWatch } from './process-watch.ts';
import { brandWord, loadCompanies, makeLuck } from './search-names.ts';

const warmUpQueries = 40;

type MakeQuery = (luck: () => number, known: string) => string;
interface Kind {
  name: string;
  goalP99Ms: number;
  /** Makes a query of this kind from an existing name, for the kinds that need one. */
  query: MakeQuery;
  /** The share of pages that must have content, since otherwise the benchmark asks the wrong questions. */
  leastFound: number;
}

const wordsOf = (name: string) => foldName(name).base.split(' ');
const pick = (list: readonly string[], luck: () => number) => list[Math.floor(luck() * list.length)]!;

const kinds: readonly Kind[] = [
  { name: 'short prefix', goalP99Ms: 25, leastFound: 0.9, query: (luck) => brandWord(luck).slice(0, 3) },
  {
    name: 'common word',
    goalP99Ms: 25,
    leastFound: 1,
    query: (luck) =>
      pick(['INVERSIONES', 'SERVICIOS', 'PERU', 'DEL', 'GENERALES', 'GRUPO', 'HIJOS', 'TRANSPORTES'], luck),
  },
  { name: 'a name that there is', goalP99Ms: 25, leastFound: 1, query: (_, known) => known },
  {
    name: 'several words, turned round',
    goalP99Ms: 25,
    leastFound: 1,
    query: (_, known) => wordsOf(known).reverse().join(' '),
  },
  {
    name: 'common words, the last unfinished',
    goalP99Ms: 25,
    leastFound: 0.9,
    query: (luck) => `${pick(['DEL PERU', 'GENERALES', 'SERVICIOS'], luck)} ${brandWord(luck).slice(0, 2)}`,
  },
  {
    name: 'other connectors',
    goalP99Ms: 25,
    leastFound: 1,
    query: (luck, known) => wordsOf(known).join(pick([' de ', ' y ', ' del ', ' de la '], luck)),
  },
  { name: 'abbreviated', goalP99Ms: 25, leastFound: 1, query: (_, known) => abbreviated(known) },
  { name: 'apostrophes, initials and forms spaced', goalP99Ms: 25, leastFound: 1, query: (_, known) => spaced(known) },
  {
    name: 'one word wrong',
    goalP99Ms: 37,
    leastFound: 0.5,
    query: (luck, known) => `${wordsOf(known).join(' ')} XWQ${brandWord(luck)}`,
  },
  { name: 'one letter wrong', goalP99Ms: 37, leastFound: 0.8, query: (_, known) => mistyped(known) },
  {
    name: 'nothing found',
    goalP99Ms: 37,
    leastFound: 0,
    query: (luck) => `XWQ${brandWord(luck)} KJ${brandWord(luck)}`,
  },
];

const abbreviations: Readonly<Record<string, string>> = {
  INVERSIONES: 'INV.',
  SERVICIOS: 'SERV.',
  TRANSPORTES: 'TRANSP.',
  COMERCIAL: 'COMERC.',
  CONSTRUCTORA: 'CONST.',
  DISTRIBUIDORA: 'DIST.',
  CORPORACION: 'CORP.',
  GENERALES: 'GRALES.',
};

function abbreviated(name: string): string {
  return name
    .split(' ')
    .map((word) => abbreviations[word] ?? word)
    .join(' ');
}

/** Writes G.D.C. as G D C, D'PUYAQUE as D PUYAQUE, and S.A.C. as S A C. */
function spaced(name: string): string {
  return name.replaceAll("'", ' ').replaceAll('.', ' ');
}

/** The longest word with two letters in its middle swapped. */
function mistyped(name: string): string {
  const words = wordsOf(name);
  const longest = words.reduce((one, other) => (other.length > one.length ? other : one));
  const at = Math.floor(longest.length / 2);
  const wrong = `${longest.slice(0, at)}${longest[at + 1] ?? 'S'}${longest[at]}${longest.slice(at + 2)}`;
  return words.map((word) => (word === longest ? wrong : word)).join(' ');
}

/**
 * `--rows N` (300,000), `--queries Q` (200 of each kind), `--callers C` (2). Searches through the API on its own stack,
 * over N companies that the consumer's handler wrote, and prints p50 and p99 by kind of query. All share the machine.
 */
export async function run(args: string[]): Promise<void> {
  const rows = numberOption(args, 'rows', 300_000);
  const queries = numberOption(args, 'queries', 200);
  const callers = numberOption(args, 'callers', 2);
  console.log(`machine: ${describeMachine()}`);
  await onOwnStack('search', ['postgres', 'clickhouse'], async (stack) => {
    const { token, sample } = await prepare(stack, rows);
    const { CLICKHOUSE_URL, DATABASE_URL } = stack.endpoints;
    const startedAt = performance.now();
    const api = await startApi({ CLICKHOUSE_URL, DATABASE_URL });
    try {
      await printReady(api, token, startedAt);
      for (const kind of kinds) print(kind, await measure({ url: api.url, token, sample }, kind, queries, callers));
    } finally {
      await api.stop();
    }
  });
}

/** The first search waits until the process has read all names. */
async function printReady({ url, pid }: RunningApi, token: string, startedAt: number): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await request(`${url}/id/v1/ruc/buscar?q=INVERSIONES`, { headers });
  await response.body.text();
  const seconds = (performance.now() - startedAt) / 1_000;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = Number(/VmRSS:\s*(\d+) kB/.exec(status)![1]) / 1_000;
  console.log(
    `first search ${seconds.toFixed(1)} s after the start of the api, which then has ${megabytes.toFixed(0)} MB\n`,
  );
}

async function prepare({ endpoints }: Stack, rows: number): Promise<{ token: string; sample: readonly string[] }> {
  await migratePostgres(endpoints.DATABASE_URL);
  await migrateClickhouse(endpoints.CLICKHOUSE_URL);
  const clickhouse = makeClickhouse(endpoints.CLICKHOUSE_URL, 'bench', { requestTimeoutMs: 600_000, connections: 1 });
  const startedAt = performance.now();
  const loaded = await loadCompanies(clickhouse, rows);
  const took = ((performance.now() - startedAt) / 1_000).toFixed(1);
  // Without this, the merges after the load would be measured together with the searches.
  for (const table of ['taxpayer', 'ranked_name', 'company_word']) {
    await clickhouse.command({ query: `OPTIMIZE TABLE ${table} FINAL` });
  }
  const size = await clickhouse.query({
    query: `SELECT formatReadableSize(sum(bytes_on_disk)) AS size, count() AS parts,
              (SELECT uniqExact(word) FROM company_word) AS words
            FROM system.parts WHERE table = 'ranked_name' AND active AND database = currentDatabase()`,
    format: 'JSONEachRow',
  });
  const [table] = await size.json<{ size: string; parts: string; words: string }>();
  await clickhouse.close();
  console.log(`${rows} companies by the consumer's handler in ${took} s; of it JavaScript's CPU on each`);
  console.log(`  state ${loaded.stateMicroseconds.toFixed(1)} µs, name ${loaded.nameMicroseconds.toFixed(1)} µs`);
  console.log(`  ranked_name: ${table!.size} in ${table!.parts} parts, ${table!.words} words\n`);
  const pool = makePool(endpoints.DATABASE_URL, 'bench', 1);
  await insertEdition(pool, { number: 1, fechaDato: '2026-11-26' });
  const token = await unlimitedToken(pool);
  await pool.end();
  return { token, sample: loaded.sample };
}

interface SearchFigures {
  p50Ms: number;
  p99Ms: number;
  found: number;
  perSecond: number;
  /** Milliseconds of CPU per search, by process. Unlike times, they stay comparable on a busy machine. */
  cpuMs: ReadonlyMap<string, number>;
}

async function measure(
  { url, token, sample }: { url: string; token: string; sample: readonly string[] },
  kind: Kind,
  queries: number,
  callers: number,
): Promise<SearchFigures> {
  const dispatcher = new Agent({ connections: callers });
  const luck = makeLuck(7);
  const latencies: number[] = [];
  let found = 0;
  let asked = 0;
  const ask = async (last: number, isMeasured: boolean) => {
    while (asked < last) {
      asked += 1;
      const target = `${url}/id/v1/ruc/buscar?${new URLSearchParams({ q: kind.query(luck, pick(sample, luck)) })}`;
      const sentAt = performance.now();
      const response = await request(target, { dispatcher, headers: { authorization: `Bearer ${token}` } });
      const body = await response.body.text();
      if (response.statusCode !== 200) throw new Error(`${kind.name}: ${response.statusCode} ${body}`);
      if (!isMeasured) continue;
      latencies.push(performance.now() - sentAt);
      if (!body.includes('"data":[]')) found += 1;
    }
  };
  const askAll = (last: number, isMeasured: boolean) =>
    Promise.all(Array.from({ length: callers }, () => ask(last, isMeasured)));
  await askAll(warmUpQueries, false);
  const watch = new ProcessWatch();
  const startedAt = performance.now();
  await askAll(warmUpQueries + queries, true);
  const seconds = (performance.now() - startedAt) / 1_000;
  const cpuMs = new Map([...watch.stop()].map(([name, { cpuSeconds }]) => [name, (cpuSeconds * 1_000) / queries]));
  await dispatcher.close();
  const [p50Ms, p99Ms] = [quantile(0.5, latencies), quantile(0.99, latencies)];
  return { p50Ms, p99Ms, found: found / latencies.length, perSecond: queries / seconds, cpuMs };
}

function print({ name, goalP99Ms, leastFound }: Kind, figures: SearchFigures): void {
  const { p50Ms, p99Ms, found, perSecond, cpuMs } = figures;
  const verdict = p99Ms <= goalP99Ms ? 'met' : 'missed';
  const shown = `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms (goal ≤ ${goalP99Ms}: ${verdict})`;
  console.log(`${name}: ${shown}, ${perSecond.toFixed(0)}/s, ${Math.round(found * 100)} % of pages with content`);
  console.log(
    `  CPU ms per search: ${[...cpuMs].map(([process, used]) => `${process} ${used.toFixed(1)}`).join(', ')}`,
  );
  if (found < leastFound) {
    console.log(`  expected ${Math.round(leastFound * 100)} % of pages with content at least`);
    process.exitCode = 1;
  }
}
