import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Product, type ProductHost, processNames, startProduct } from '../../../../deploy/local/product.ts';
import {
  freshClickhouseDatabase,
  freshDatabase,
  freshNamespace,
  freshTopicPrefix,
} from '../../../support/engines/isolation.ts';

let host: ProductHost;
let product: Product;
let environment: Record<string, string>;
const drops: (() => Promise<void>)[] = [];
const ends: string[] = [];
const startTimeoutMs = 300_000;

beforeAll(async () => {
  const shared = inject('endpoints');
  const database = await freshDatabase(shared);
  const clickhouse = await freshClickhouseDatabase(shared);
  drops.push(database.drop, clickhouse.drop);
  const directory = mkdtempSync(path.join(tmpdir(), 'padron-product-'));
  const { DATABASE_URL } = database;
  const { CLICKHOUSE_URL } = clickhouse;
  host = { directory, endpoints: { ...shared, DATABASE_URL, CLICKHOUSE_URL, WORK_DIR: path.join(directory, 'work') } };
  environment = {
    TEMPORAL_NAMESPACE: await freshNamespace(shared),
    KAFKA_TOPIC_PREFIX: freshTopicPrefix(),
    PADRON_BUILD_ID: 'build of the test',
    CONSUMER_SESSION_MS: '6000', // A killed consumer's partitions wait this long.
  };
  product = await startProduct(host, {
    environment: { all: environment },
    onProcessEnd: (name) => ends.push(name),
  });
}, startTimeoutMs);
afterAll(async () => {
  await product?.stop();
  for (const drop of drops) await drop();
  rmSync(host.directory, { recursive: true, force: true });
});

const status = async (url: string) => (await fetch(url)).status;

test('all three processes are ready and serve their metrics', async () => {
  for (const name of processNames) {
    expect(await status(`${product.healthUrls[name]}/healthz`)).toBe(200);
    expect(await status(`${product.healthUrls[name]}/metrics`)).toBe(200);
  }
});

test('the start line of each process shows version and build', () => {
  for (const name of processNames) {
    const lines = readFileSync(path.join(host.directory, 'logs', `${name}.log`), 'utf8').split('\n');
    const start = lines.find((line) => line.includes('"msg":"listening"')) ?? '{}';
    expect(JSON.parse(start)).toMatchObject({ process: name, version: '0.1.0', build: 'build of the test' });
  }
});

test.each(processNames)(
  '%s can be killed and started again at the same address',
  { timeout: startTimeoutMs },
  async (name) => {
    const before = product.pid(name);
    await product.kill(name);
    expect(product.pid(name)).toBeUndefined();
    await expect(fetch(`${product.healthUrls[name]}/healthz`)).rejects.toThrow();
    await product.restart(name); // resolves when it is ready
    expect(product.pid(name)).not.toBe(before);
    expect(await status(`${product.healthUrls[name]}/healthz`)).toBe(200);
    expect(ends).toEqual([]);
  },
);

test('a process that ends by itself is reported', async () => {
  process.kill(product.pid('consumers')!, 'SIGKILL');
  while (ends.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(ends).toEqual(['consumers']);
});

test('migrations that fail stop the start with their error', async () => {
  const endpoints = { ...host.endpoints, DATABASE_URL: host.endpoints.DATABASE_URL.replace(/\/[^/]*$/, '/not_there') };
  await expect(startProduct({ ...host, endpoints }, { environment: { all: environment } })).rejects.toThrow(
    /the migrations ended with 1:\n[\s\S]*not_there/,
  );
});
