import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Product, type ProductHost, processNames, startProduct } from '../../../../deploy/local/product.ts';
import { makeClickhouse } from '../../../../pipelines/runtime/clickhouse.ts';
import { makePool } from '../../../../pipelines/runtime/postgres.ts';
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
    expect(JSON.parse(start)).toMatchObject({ process: name, version: '0.2.0', build: 'build of the test' });
  }
});

const schemaProblems: Record<(typeof processNames)[number], RegExp> = {
  api: /^PostgreSQL has an older schema: it lacks the migration 0001_catalogue; run `npx padron migrate`/,
  consumers: /^ClickHouse has an older schema: it lacks the migration 0001_taxpayer\.sql and \d+ more; run `npx/,
  worker: /^PostgreSQL has an older schema: it lacks the migration 0001_catalogue; run `npx padron migrate`/,
};

test.each(processNames)(
  '%s can be killed and started again; it is not ready on an older schema, and runs on a newer one',
  { timeout: startTimeoutMs },
  async (name) => {
    const before = product.pid(name);
    await product.kill(name);
    expect(product.pid(name)).toBeUndefined();
    await expect(fetch(`${product.healthUrls[name]}/healthz`)).rejects.toThrow();
    const reason = async () => {
      const response = await fetch(`${product.healthUrls[name]}/readyz`);
      return ((await response.json()) as { reason?: string }).reason ?? 'ready';
    };
    const endOlderSchema = await makeSchemaOlder(name);
    // This also resolves for a process that waits for a command of the operator.
    await product.restart(name);
    expect(product.pid(name)).not.toBe(before);
    expect(await status(`${product.healthUrls[name]}/healthz`)).toBe(200);
    expect(await reason()).toMatch(schemaProblems[name]);
    await endOlderSchema();
    const readyText = name === 'api' ? /^no materialised edition yet of/ : /^ready$/;
    await expect.poll(reason, { timeout: 60_000 }).toMatch(readyText);
    expect(ends).toEqual([]);
  },
);

/**
 * Makes a store forget migrations. The returned function records them again, and one of a later release besides: that
 * is what a process of this release finds after the next upgrade.
 */
async function makeSchemaOlder(name: string): Promise<() => Promise<void>> {
  const { DATABASE_URL, CLICKHOUSE_URL } = host.endpoints;
  const pool = makePool(DATABASE_URL, 'test', 1);
  const clickhouse = makeClickhouse(CLICKHOUSE_URL, 'test', { requestTimeoutMs: 10_000, connections: 1 });
  if (name === 'consumers') await clickhouse.command({ query: 'RENAME TABLE _migrations TO _migrations_kept' });
  else await pool.query(`UPDATE schema_migration SET name = '0000_other' WHERE name = '0001_catalogue'`);
  return async () => {
    if (name === 'consumers') {
      await clickhouse.command({ query: 'RENAME TABLE _migrations_kept TO _migrations' });
      const later = { version: 9_999, checksum: '', migration_name: '9999_later.sql' };
      await clickhouse.insert({ table: '_migrations', format: 'JSONEachRow', values: [later] });
    } else {
      await pool.query(`UPDATE schema_migration SET name = '0001_catalogue' WHERE name = '0000_other'`);
      await pool.query(`INSERT INTO schema_migration (name, run_on) VALUES ('9999_later', now())`);
    }
    await pool.end();
    await clickhouse.close();
  };
}

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
