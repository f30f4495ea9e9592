import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { checkMaterialised } from '../../../../pipelines/stream/progress.ts';
import { materializeGroup, watchGroup } from '../../../../pipelines/stream/topics.ts';
import { registerNames } from '../../../../schemas/registers.ts';
import {
  baseline,
  currentState,
  expectedState,
  freezeTestEdition,
  makeStreamHarness,
  nextDay,
  produceTestEdition,
  type StreamHarness,
} from '../../../support/engines/stream.ts';
import { type Collector, startCollector } from '../../../support/process/collector.ts';

const register = 'padron_reducido';
const name = 'EMPRESA 3 "Ñ" S.A.C.';
let harness: StreamHarness;
let collector: Collector;
beforeAll(async () => {
  collector = await startCollector();
  harness = await makeStreamHarness(inject('endpoints'), registerNames);
});
const started: ChildProcess[] = [];
afterAll(async () => {
  // A test that failed leaves its process.
  for (const child of started) child.kill('SIGKILL');
  await harness.close();
  await collector.close();
});

interface Consumers {
  process: ChildProcess;
  url: string;
  lines: string[];
  ended: Promise<number | null>;
}

async function startConsumers(): Promise<Consumers> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'pipelines/consumers/main.ts'], {
    // There is no Temporal here. The process needs it for wake-ups, but not to start.
    env: { ...harness.environment, ...collector.environment, TEMPORAL_ADDRESS: '127.0.0.1:1', LOG_LEVEL: 'debug' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  const lines: string[] = [];
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      if (line.includes('"listening"')) resolve(JSON.parse(line).healthPort);
    });
    void ended.then(() => reject(new Error(`consumers ended: ${lines.join('\n')}`)));
  });
  return { process: child, url: `http://127.0.0.1:${port}`, lines, ended };
}

async function statesOf(groups: string[]): Promise<string[]> {
  const admin = harness.kafka.admin();
  await admin.connect();
  const found = await admin.describeGroups(groups);
  await admin.disconnect();
  return found.groups.map(({ state }) => state);
}

test('the process serves its health, materialises, survives a kill and stops cleanly', async () => {
  const first = baseline(60_000);
  const second = nextDay(first, 2);
  const consumers = await startConsumers();
  const status = async (path: string) => (await fetch(`${consumers.url}${path}`)).status;
  expect(await status('/healthz')).toBe(200);
  await expect.poll(() => status('/readyz'), { timeout: 60_000 }).toBe(200);
  // A process that says that it is ready has joined its groups, and so lives on when Kafka ends at this moment.
  expect(await statesOf([materializeGroup(harness.prefix), watchGroup(harness.prefix)])).toEqual(['Stable', 'Stable']);
  await produceTestEdition(harness, 1, await freezeTestEdition(harness, 1, first));
  // The kill comes in the middle of its work or just after. Both must end alike.
  consumers.process.kill('SIGKILL');
  await consumers.ended;
  const again = await startConsumers();
  await expect.poll(() => checkMaterialised(harness, register, 1), { timeout: 100_000 }).toBe('materialised');
  await produceTestEdition(harness, 2, await freezeTestEdition(harness, 2, second));
  await expect.poll(() => checkMaterialised(harness, register, 2), { timeout: 60_000 }).toBe('materialised');
  expect(await currentState(harness)).toEqual(expectedState(first, second));
  const metrics = await (await fetch(`${again.url}/metrics`)).text();
  expect(metrics).toMatch(/padron_consumer_rows_total\{[^}]*materialize[^}]*\} \d+/);
  expect(metrics).toMatch(/padron_materialize_insert_seconds_count\{[^}]*table="register_change"/);
  const committedLines = () =>
    again.lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'batch committed');
  // A stop waits only a while for the collector, so that spans which are still on their way may be lost.
  const areTraced = () => {
    const traced = new Set(collector.spans().map(({ traceId }) => traceId));
    return committedLines().every(({ trace_id }) => traced.has(trace_id));
  };
  await expect.poll(areTraced).toBe(true);
  again.process.kill('SIGTERM');
  expect(await again.ended).toBe(0);
  const committed = committedLines();
  expect(committed.length).toBeGreaterThan(0);
  expect(committed[0]).toMatchObject({
    register,
    rows: expect.any(Number),
    handleMs: expect.any(Number),
    lag: expect.any(Number),
  });
  expectTraces(committed);
  expect(`${[...consumers.lines, ...again.lines].join('\n')}${metrics}${collector.text()}`).not.toContain(
    name.slice(0, 9),
  );
}, 300_000);

/** Each batch is a span that its log line names, with its place in Kafka, its edition and its inserts. */
function expectTraces(committed: readonly Record<string, unknown>[]): void {
  const spans = collector.spans();
  for (const { trace_id, group, topic, partition, firstOffset, lastOffset, rows } of committed) {
    const ofTrace = spans.filter(({ traceId }) => traceId === trace_id);
    const [batch] = ofTrace.filter(({ parentSpanId }) => parentSpanId === undefined);
    expect(batch).toMatchObject({
      service: 'padron-consumers',
      name: `process ${topic}`,
      attributes: {
        'messaging.consumer.group.name': group,
        'messaging.destination.name': topic,
        'messaging.destination.partition.id': String(partition),
        'messaging.batch.message_count': rows,
        'padron.register': register,
        'padron.offset.first': Number(firstOffset),
        'padron.offset.last': Number(lastOffset),
        'padron.committed': true,
      },
    });
    if (!String(group).includes('materialize')) continue;
    const inserts = ofTrace.filter(({ name }) => name === 'clickhouse.exec');
    expect(inserts.length).toBeGreaterThan(0);
    for (const { parentSpanId, attributes } of inserts) {
      expect(parentSpanId).toBe(batch!.spanId);
      expect(attributes['clickhouse.request.query_id']).toEqual(expect.any(String));
    }
  }
  expect(spans.filter(({ attributes }) => attributes['padron.edition'] === 2).length).toBeGreaterThan(0);
  // No text of a row or a statement.
  expect(collector.text()).not.toMatch(/EMPRESA|INSERT INTO|\b(10|20)[0-9]{9}\b/);
}

test('a topic with other settings keeps the process from starting', async () => {
  await harness.pool.query('UPDATE register_head SET partitions = 5');
  const child = spawn(process.execPath, ['--import', 'tsx', 'pipelines/consumers/main.ts'], {
    env: { ...harness.environment, TEMPORAL_ADDRESS: '127.0.0.1:1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(1);
  expect(output).toContain('topic_settings_differ');
  await harness.pool.query('UPDATE register_head SET partitions = 6');
});

test('--check-config reports everything that is missing at once', async () => {
  const run = async (env: Record<string, string>) => {
    const child = spawn(process.execPath, ['--import', 'tsx', 'pipelines/consumers/main.ts', '--check-config'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    return { code: await new Promise((resolve) => child.once('close', resolve)), output };
  };
  const missing = await run({});
  expect(missing.code).toBe(1);
  for (const variable of ['DATABASE_URL', 'CLICKHOUSE_URL', 'KAFKA_BROKERS'])
    expect(missing.output).toContain(variable);
  expect(await run({ ...harness.environment, TEMPORAL_ADDRESS: '127.0.0.1:1' })).toEqual({
    code: 0,
    output: 'configuration ok\n',
  });
});
