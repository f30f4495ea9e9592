import { createClient } from '@clickhouse/client';
import { Connection, WorkflowClient } from '@temporalio/client';
import { Kafka, logLevel } from 'kafkajs';
import pg from 'pg';
import { expect, vi } from 'vitest';
import type { Endpoints } from '../../../../deploy/local/config.ts';
import type { EngineName } from '../../../../deploy/local/engines/context.ts';

// A mark is something durable that an engine acknowledged. Tests write one and later check that it is still there.

interface Mark {
  write(endpoints: Endpoints, name: string): Promise<void>;
  read(endpoints: Endpoints, name: string): Promise<void>;
}

const timeoutMs = 30_000;

export const marks: Record<EngineName, Mark> = {
  postgres: {
    write: (endpoints, name) => sql(endpoints, async (client) => void (await client.query(`CREATE TABLE ${name} ()`))),
    read: (endpoints, name) => sql(endpoints, async (client) => void (await client.query(`SELECT FROM ${name}`))),
  },
  kafka: {
    async write(endpoints, name) {
      const kafka = kafkaClient(endpoints);
      const admin = kafka.admin();
      await admin.connect();
      await admin.createTopics({ topics: [{ topic: name, numPartitions: 1, replicationFactor: 1 }] });
      // Kafka names a leader a moment before it takes records, and the producer would give up at once.
      await vi.waitFor(() => admin.fetchTopicOffsets(name), { timeout: timeoutMs, interval: 100 });
      await admin.disconnect();
      const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
      await producer.connect();
      await producer.send({ topic: name, acks: -1, messages: [{ key: 'mark', value: name }] });
      await producer.disconnect();
    },
    async read(endpoints, name) {
      const consumer = kafkaClient(endpoints).consumer({ groupId: `${name}-${Date.now()}` });
      await consumer.connect();
      await consumer.subscribe({ topic: name, fromBeginning: true });
      const value = await new Promise<string | undefined>((resolve, reject) => {
        setTimeout(() => reject(new Error(`nothing came from topic ${name}`)), timeoutMs).unref();
        consumer.run({ eachMessage: async ({ message }) => resolve(message.value?.toString()) }).catch(reject);
      });
      await consumer.disconnect();
      expect(value).toBe(name);
    },
  },
  registry: {
    async write(endpoints, name) {
      const answer = await fetch(`${endpoints.SCHEMA_REGISTRY_URL}/subjects/${name}/versions`, {
        method: 'POST',
        headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
        body: JSON.stringify({ schema: JSON.stringify({ type: 'record', name, fields: [] }) }),
      });
      expect(answer.status).toBe(200);
      await answer.arrayBuffer();
    },
    async read(endpoints, name) {
      const answer = await fetch(`${endpoints.SCHEMA_REGISTRY_URL}/subjects/${name}/versions/latest`);
      expect(await answer.json()).toMatchObject({ subject: name, version: 1 });
    },
  },
  clickhouse: {
    write: (endpoints, name) =>
      clickhouse(endpoints, async (client) => {
        const settings = 'fsync_after_insert = 1, fsync_part_directory = 1';
        const columns = '(mark String) ENGINE = MergeTree ORDER BY mark';
        await client.command({ query: `CREATE TABLE ${name} ${columns} SETTINGS ${settings}` });
        await client.insert({
          table: name,
          values: [{ mark: name }],
          format: 'JSONEachRow',
          clickhouse_settings: { async_insert: 0 },
        });
      }),
    read: (endpoints, name) =>
      clickhouse(endpoints, async (client) => {
        const answer = await client.query({ query: `SELECT mark FROM ${name}`, format: 'JSONEachRow' });
        expect(await answer.json()).toEqual([{ mark: name }]);
      }),
  },
  temporal: {
    write: (endpoints, name) =>
      temporal(endpoints, async (client) => void (await client.start('mark', { taskQueue: name, workflowId: name }))),
    read: (endpoints, name) =>
      temporal(endpoints, async (client) => {
        expect((await client.getHandle(name).describe()).status.name).toBe('RUNNING');
      }),
  },
};

export async function writeAll(endpoints: Endpoints, name: string): Promise<void> {
  for (const mark of Object.values(marks)) await mark.write(endpoints, name);
}

export async function readAll(endpoints: Endpoints, name: string): Promise<void> {
  for (const mark of Object.values(marks)) await mark.read(endpoints, name);
}

function kafkaClient(endpoints: Endpoints): Kafka {
  // Right after a start the coordinators answer "loading", so this retries.
  return new Kafka({ brokers: [endpoints.KAFKA_BROKERS], logLevel: logLevel.NOTHING, retry: { retries: 20 } });
}

async function sql(endpoints: Endpoints, use: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: endpoints.DATABASE_URL });
  await client.connect();
  await use(client).finally(() => client.end());
}

async function clickhouse(endpoints: Endpoints, use: (client: ReturnType<typeof createClient>) => Promise<void>) {
  const client = createClient({ url: endpoints.CLICKHOUSE_URL });
  await use(client).finally(() => client.close());
}

async function temporal(endpoints: Endpoints, use: (client: WorkflowClient) => Promise<void>): Promise<void> {
  const connection = await Connection.connect({ address: endpoints.TEMPORAL_ADDRESS });
  await use(new WorkflowClient({ connection })).finally(() => connection.close());
}
