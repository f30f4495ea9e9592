import { createClient } from '@clickhouse/client';
import { Connection, WorkflowClient } from '@temporalio/client';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import {
  freshClickhouseDatabase,
  freshDatabase,
  freshNamespace,
  freshTopicPrefix,
} from '../../support/engines/isolation.ts';

const endpoints = inject('endpoints');

test('a fresh database is empty, usable and goes away though a session is open', async () => {
  const fresh = await freshDatabase(endpoints);
  const client = new pg.Client({ connectionString: fresh.DATABASE_URL });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('CREATE TABLE sample (id int)');
  await fresh.drop();
  await expect(new pg.Client({ connectionString: fresh.DATABASE_URL }).connect()).rejects.toThrow(/does not exist/);
});

test.skipIf(endpoints.CLICKHOUSE_URL === '')('a fresh ClickHouse database is usable by its address alone', async () => {
  const fresh = await freshClickhouseDatabase(endpoints);
  const client = createClient({ url: fresh.CLICKHOUSE_URL });
  await client.command({ query: 'CREATE TABLE sample (id UInt32) ENGINE = MergeTree ORDER BY id' });
  const answer = await client.query({ query: 'SELECT currentDatabase() AS name', format: 'JSONEachRow' });
  expect(await answer.json()).toEqual([{ name: fresh.database }]);
  await fresh.drop();
  await client.close();
});

test('a fresh namespace takes workflows at once', async () => {
  const namespace = await freshNamespace(endpoints);
  const connection = await Connection.connect({ address: endpoints.TEMPORAL_ADDRESS });
  const client = new WorkflowClient({ connection, namespace });
  const handle = await client.start('sample', { taskQueue: 'sample', workflowId: 'sample' });
  expect((await handle.describe()).status.name).toBe('RUNNING');
  await handle.terminate();
  await connection.close();
});

test('names of suites differ', () => {
  expect(freshTopicPrefix()).not.toBe(freshTopicPrefix());
});
