import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Endpoints } from '../../deploy/local/config.ts';
import { runInChild } from '../../pipelines/diff/child.ts';
import type { CompareResult } from '../../pipelines/diff/types.ts';
import { makeClickhouse } from '../../pipelines/runtime/clickhouse.ts';
import { makeKafka } from '../../pipelines/runtime/kafka/client.ts';
import { makeLogger } from '../../pipelines/runtime/log.ts';
import { migrateClickhouse, migratePostgres } from '../../pipelines/runtime/migrate.ts';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { connectOffsets } from '../../pipelines/stream/kafka.ts';
import { prepareStreams } from '../../pipelines/stream/prepare.ts';
import { produceEdition } from '../../pipelines/stream/produce.ts';
import { checkMaterialised } from '../../pipelines/stream/progress.ts';
import { connectRegistry } from '../../pipelines/stream/registry.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { cachedPublication } from './diff.ts';
import { describeMachine } from './figures.ts';
import { onOwnStack } from './own-stack.ts';
import { type ProcessFigures, ProcessWatch } from './process-watch.ts';
import { printStoreSizes } from './store-sizes.ts';

const register = 'padron_reducido';
const goals = new Map([
  [2_000_000, 35],
  [18_340_000, 300],
]);

interface Stage {
  name: string;
  seconds: number;
  cpu: Map<string, number>;
}

/**
 * `--rows N` (2,000,000), `--materialize-only` (without the watch group). Measures a first edition on its own stack:
 * archive, comparison with nothing, Kafka and ClickHouse, until the edition is materialised.
 */
export async function run(args: string[]): Promise<void> {
  const rows = numberOption(args, 'rows', 2_000_000);
  const outputs = args.includes('--materialize-only') ? 'materialize' : 'materialize,watch';
  console.log(`machine: ${describeMachine()}`);
  const publication = await cachedPublication(rows, 1, 'kept');
  await onOwnStack('first-load', ['postgres', 'kafka', 'registry', 'clickhouse'], ({ endpoints }, folder) =>
    load({ endpoints, folder }, publication.path, rows, outputs),
  );
}

interface Place {
  endpoints: Endpoints;
  folder: string;
}

async function load({ endpoints, folder }: Place, zip: string, rows: number, outputs: string): Promise<void> {
  const log = makeLogger('bench', 'fatal');
  await migratePostgres(endpoints.DATABASE_URL);
  await migrateClickhouse(endpoints.CLICKHOUSE_URL);
  const pool = makePool(endpoints.DATABASE_URL, 'bench', 4);
  const clickhouse = makeClickhouse(endpoints.CLICKHOUSE_URL, 'bench', { requestTimeoutMs: 120_000, connections: 2 });
  const kafka = makeKafka({ brokers: endpoints.KAFKA_BROKERS }, 'bench', log);
  const registry = connectRegistry(endpoints.SCHEMA_REGISTRY_URL);
  const prefix = '';
  // The consumers start only once the streams of all registers are ready.
  await prepareStreams({ kafka, registry, pool, archiveUrl: endpoints.ARCHIVE_URL, prefix });
  const offsets = await connectOffsets(kafka);
  const consumers = startConsumers({ endpoints, folder }, outputs);
  await sleep(4_000);
  const watch = new ProcessWatch();
  const stages: Stage[] = [];
  const stage = async <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
    const before = watch.cpu();
    const started = performance.now();
    const result = await work();
    const seconds = (performance.now() - started) / 1000;
    const cpu = new Map([...watch.cpu()].map(([process, used]) => [process, used - (before.get(process) ?? 0)]));
    stages.push({ name, seconds, cpu });
    return result;
  };
  const signal = new AbortController().signal;
  const started = performance.now();
  const difference = await stage('difference', () =>
    runInChild(
      'compare',
      {
        register,
        publicationPath: zip,
        base: null,
        edition: 1,
        detectedAt: Date.now(),
        workDir: join(folder, 'work'),
        outputDir: join(folder, 'out'),
      },
      () => {},
      signal,
    ),
  );
  await freeze(pool, difference);
  const stream = { kafka, connection: { brokers: endpoints.KAFKA_BROKERS }, offsets, registry, prefix };
  const parts = { pool, ...stream, archiveUrl: endpoints.ARCHIVE_URL, log };
  const changeFile = difference.changeFile.path;
  await stage('publish', () => produceEdition(parts, { register, edition: 1, changeFile }, () => {}, signal));
  await stage('until materialised', async () => {
    const wanted = { pool, offsets, prefix, clickhouse };
    while ((await checkMaterialised(wanted, register, 1)) === 'not_yet') {
      if (consumers.exitCode !== null) throw new Error('the consumers ended: see first-load-consumers.log');
      await sleep(100);
    }
  });
  const seconds = (performance.now() - started) / 1000;
  print(rows, seconds, stages, watch.stop());
  await printStoreSizes('stores', { directory: join(folder, 'stack'), clickhouse, pool });
  await stop(consumers);
  await offsets.close();
  await clickhouse.close();
  await pool.end();
}

function startConsumers({ endpoints, folder }: Place, outputs: string): ChildProcess {
  const output = createWriteStream(join(folder, '..', 'first-load-consumers.log'));
  const child = spawn(process.execPath, ['--import', 'tsx', 'pipelines/consumers/main.ts'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...endpoints, TEMPORAL_ADDRESS: '127.0.0.1:1', CONSUMERS: outputs },
  });
  child.stdout.pipe(output);
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

async function freeze(pool: Pool, difference: CompareResult): Promise<void> {
  const { rows } = await pool.query<{ id: number }>(
    `INSERT INTO publication (register, sha256, fecha_dato, published_at, state)
     VALUES ($1, 'bench', '2026-11-20', now(), 'publicando') RETURNING id`,
    [register],
  );
  await pool.query(
    `INSERT INTO edition (register, number, publication_id, fecha_dato, published_at, detected_at, change_file_sha256,
       parser_version, columns, changes, counts)
     VALUES ($1, 1, $2, '2026-11-20', now(), now(), $3, 1, '{}', $4, '{}')`,
    [register, rows[0]!.id, difference.changeFile.sha256, difference.baseline],
  );
}

function print(rows: number, seconds: number, stages: Stage[], processes: Map<string, ProcessFigures>): void {
  const rate = (time: number) => `${Math.round(rows / time / 1000)}k rows/s`;
  console.log(`\nstage                 wall s   rows/s         CPU s by process`);
  for (const { name, seconds: wall, cpu } of stages) {
    const used = [...cpu]
      .filter(([, value]) => value >= 0.05)
      .map(([process, value]) => `${process} ${value.toFixed(1)}`);
    console.log(`${name.padEnd(20)} ${wall.toFixed(1).padStart(7)}   ${rate(wall).padEnd(14)} ${used.join(', ')}`);
  }
  let total = 0;
  console.log(`\nprocess        CPU s   µs/row   peak MB   MB at 20, 40, 60, 80, 100 %`);
  for (const [name, { cpuSeconds, peakRssMb, rssMb }] of processes) {
    total += cpuSeconds;
    const at = [0.2, 0.4, 0.6, 0.8, 1].map((part) => Math.round(rssMb[Math.floor((rssMb.length - 1) * part)]!));
    const perRow = ((cpuSeconds / rows) * 1e6).toFixed(2);
    console.log(
      `${name.padEnd(12)} ${cpuSeconds.toFixed(1).padStart(7)} ${perRow.padStart(8)} ${peakRssMb.toFixed(0).padStart(9)}   ${at.join(', ')}`,
    );
  }
  const goal = goals.get(rows);
  console.log(`\n${rows} rows in ${seconds.toFixed(1)} s, ${rate(seconds)}, ${total.toFixed(0)} CPU s in all`);
  if (goal !== undefined) console.log(`goal ${goal} s: ${seconds <= goal ? 'met' : 'missed'}`);
}
