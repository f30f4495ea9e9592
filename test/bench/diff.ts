import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TrueChange } from '../../deploy/local/demo/register/population.ts';
import { type Publication, writePublication } from '../../deploy/local/demo/register/publication.ts';
import { decodeRecords } from '../../pipelines/changes/change-file.ts';
import type { ChangeRecord } from '../../pipelines/changes/record.ts';
import { runInChild } from '../../pipelines/diff/child.ts';
import { padronReducido } from '../../schemas/registers.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { describeMachine, formatSpread, spreadOf } from './figures.ts';
import { compareWithDuckDb } from './peers/duckdb.ts';
import { countLinesWithUnzip, inflateTo, type UnzipFigures } from './peers/unzip.ts';

const cacheFolder = '.local/bench/padron-reducido';
export const seed = 7;
const cacheVersion = 1;
type Order = 'kept' | 'shuffled';
const orders: readonly Order[] = ['kept', 'shuffled'];

interface Run {
  order: Order;
  wall: number;
  cpu: number;
  rssMb: number;
  unzip: UnzipFigures;
}

/** `--rows N` (2,000,000), `--runs K` (3), `--no-duckdb`. Exits with 1 if a difference is not the true one. */
export async function run(args: string[]): Promise<void> {
  const rows = numberOption(args, 'rows', 2_000_000);
  const runs = numberOption(args, 'runs', 3);
  console.log(`machine: ${describeMachine()}`);
  const day1 = await cachedPublication(rows, 1, 'kept');
  const day2 = {
    kept: await cachedPublication(rows, 2, 'kept'),
    shuffled: await cachedPublication(rows, 2, 'shuffled'),
  };
  console.log(`editions of ${rows} rows: text ${megabytes(day1.textBytes)}, zip ${megabytes(day1.zipBytes)}`);
  const folder = join(cacheFolder, `work-${rows}`);
  rmSync(folder, { recursive: true, force: true });
  const signal = new AbortController().signal;
  const common = {
    register: 'padron_reducido',
    workDir: join(folder, 'work'),
    outputDir: join(folder, 'out'),
  } as const;

  const firstInput = { ...common, publicationPath: day1.path, base: null, edition: 1, detectedAt: 1_790_000_000_000 };
  const started = performance.now();
  const first = await runInChild('compare', firstInput, () => {}, signal);
  const firstWall = (performance.now() - started) / 1000;
  console.log(
    `first edition: ${first.baseline} rows, wall ${firstWall.toFixed(2)} s, CPU ${first.usage.cpuSeconds.toFixed(2)} s, ` +
      `peak ${megabytes(first.usage.peakRssBytes)}, change file ${megabytes(first.changeFile.bytes)}`,
  );
  if (first.baseline !== rows) throw new Error(`the first edition has ${first.baseline} rows, expected ${rows}`);

  const base = { edition: 1, changeFileSha256: first.changeFile.sha256 };
  const figures: Run[] = [];
  for (let round = 0; round < runs; round += 1) {
    for (const order of orders) {
      const publication = day2[order];
      const unzip = await countLinesWithUnzip(publication.path);
      const from = performance.now();
      const input = { ...common, publicationPath: publication.path, base, edition: 2, detectedAt: 1_790_000_086_400 };
      const result = await runInChild('compare', input, () => {}, signal);
      const wall = (performance.now() - from) / 1000;
      const { cpuSeconds, peakRssBytes } = result.usage;
      figures.push({ order, wall, cpu: cpuSeconds, rssMb: peakRssBytes / 1e6, unzip });
      await checkTruth(result.changeFile.path, publication.changes);
    }
  }
  for (const order of orders)
    printRuns(
      order,
      figures.filter((figure) => figure.order === order),
    );
  console.log(`differences found = truth in all ${figures.length} runs (operation, RUC and changed columns)`);
  if (!args.includes('--no-duckdb')) await printDuckDb(day1, day2.kept, runs, figures);
  rmSync(folder, { recursive: true, force: true });
}

function printRuns(order: Order, runs: readonly Run[]): void {
  const spread = (of: (figure: Run) => number, digits?: number) => formatSpread(spreadOf(runs.map(of)), digits);
  console.log(`order ${order} (min / median / max of ${runs.length})`);
  console.log(`  difference      wall ${spread((f) => f.wall)} s   CPU ${spread((f) => f.cpu)} s`);
  console.log(`  peak memory     ${spread((f) => f.rssMb, 0)} MB`);
  console.log(
    `  unzip -p | wc   wall ${spread((f) => f.unzip.seconds)} s   CPU ${spread((f) => f.unzip.cpuSeconds)} s`,
  );
  console.log(
    `  ratio           wall ${spread((f) => f.wall / f.unzip.seconds)}     CPU ${spread((f) => f.cpu / f.unzip.cpuSeconds)}`,
  );
}

async function printDuckDb(day1: Publication, day2: Publication, runs: number, figures: readonly Run[]): Promise<void> {
  const texts = [day1, day2].map(({ path }) => ({ path, text: `${path}.txt` }));
  for (const { path, text } of texts) if (!existsSync(text)) await inflateTo(path, text);
  const peers = [];
  for (let round = 0; round < runs; round += 1) peers.push(await compareWithDuckDb(texts[0]!.text, texts[1]!.text));
  for (const { text } of texts) rmSync(text);
  const ours = spreadOf(figures.filter(({ order }) => order === 'kept').map(({ wall }) => wall)).median;
  const wall = spreadOf(peers.map((peer) => peer.seconds));
  console.log(`DuckDB, line as one column, FULL JOIN, both texts already inflated (min / median / max of ${runs})`);
  console.log(`  wall ${formatSpread(wall)} s   CPU ${formatSpread(spreadOf(peers.map((peer) => peer.cpuSeconds)))} s`);
  console.log(`  peak memory ${formatSpread(spreadOf(peers.map((peer) => peer.peakRssBytes / 1e6)), 0)} MB`);
  console.log(`  ratio of medians, ours (with inflating) to DuckDB's (without): ${(ours / wall.median).toFixed(2)}`);
  const { inserted, updated, deleted } = peers[0]!;
  console.log(`  its differences: ${inserted} inserted, ${updated} updated, ${deleted} deleted`);
}

/** Compares the operation, RUC and changed columns of every record with what the generator changed. */
async function checkTruth(path: string, truth: readonly TrueChange[]): Promise<void> {
  const expected = truth.map(({ op, ruc, columns }) => `${op} ${ruc} ${columns.join()}`);
  const found: string[] = [];
  for await (const { op, ruc, before, after } of decodeRecords<ChangeRecord>(path)) {
    const names = padronReducido.columns.map(({ name }) => name);
    const columns = op === 'u' ? names.filter((name) => before?.[name] !== after?.[name]) : [];
    found.push(`${op} ${ruc} ${columns.join()}`);
  }
  const hash = (lines: string[]) => createHash('sha256').update(lines.join('\n')).digest('hex');
  if (hash(found) !== hash(expected)) {
    throw new Error(
      `found ${found.length} differences, of which the ${expected.length} true ones are not all or not alone`,
    );
  }
}

/** Generates the publications once per size and keeps the true changes beside the zip. */
export async function cachedPublication(rows: number, day: number, order: Order): Promise<Publication> {
  mkdirSync(cacheFolder, { recursive: true });
  const name = join(cacheFolder, `v${cacheVersion}-${rows}-day${day}-${order}`);
  const facts = `${name}.json`;
  if (existsSync(facts)) return JSON.parse(readFileSync(facts, 'utf8')) as Publication;
  const started = performance.now();
  const publication = await writePublication({ path: `${name}.zip`, rows, seed, day, order });
  // Written last, so that the files of a generator that died are generated again.
  writeFileSync(facts, JSON.stringify(publication));
  console.log(`generated day ${day} (${order}) in ${((performance.now() - started) / 1000).toFixed(0)} s`);
  return publication;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
