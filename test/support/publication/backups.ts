import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Endpoints } from '../../../deploy/local/config.ts';
import { type Change, decodeChange } from '../../../pipelines/changes/record.ts';
import { prepareStream } from '../../../pipelines/stream/prepare.ts';
import { readTail } from '../../../pipelines/stream/tail.ts';
import { materializeGroup, outputsOf, watchGroup } from '../../../pipelines/stream/topics.ts';
import { changesTopic, type RegisterName } from '../../../schemas/registers.ts';
import type { StreamHarness } from '../engines/stream.ts';

// Copies of one engine, and the same engine put back to that moment while the others live on. The worker and the
// consumers must be stopped meanwhile, as they are while an operator restores an engine.

export interface Backup {
  putBack(): Promise<void>;
}

/** Copies the whole PostgreSQL database. */
export async function copyPostgres(endpoints: Endpoints, stream: StreamHarness): Promise<Backup> {
  const name = new URL(stream.environment.DATABASE_URL!).pathname.slice(1);
  const copy = `${name}_copy`;
  const onServer = async (...statements: string[]) => {
    const client = new pg.Client({ connectionString: endpoints.DATABASE_URL });
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  };
  // A database can be copied only while nobody uses it.
  await onServer(
    `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
  );
  await sleep(200);
  await onServer(
    `DROP DATABASE IF EXISTS ${copy}`,
    `CREATE DATABASE ${copy} TEMPLATE ${name}`,
    `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`,
  );
  return {
    putBack: () => onServer(`DROP DATABASE ${name} WITH (FORCE)`, `ALTER DATABASE ${copy} RENAME TO ${name}`),
  };
}

interface Record {
  partition: number;
  key: Buffer | null;
  value: Buffer;
}

async function recordsOf(stream: StreamHarness, topic: string): Promise<Record[]> {
  const records: Record[] = [];
  const ends = await stream.offsets.ends(topic);
  await readTail(stream, { topic, from: [], ends }, ({ key, value }, partition) => {
    records.push({ partition, key, value: value! });
  });
  return records;
}

/** Copies a register's topics and the offsets that both consumer groups have committed in them. */
export async function copyKafka(stream: StreamHarness, register: RegisterName): Promise<Backup> {
  const topics = outputsOf(stream.prefix, register).map(({ topic }) => topic);
  const copied = await Promise.all(topics.map(async (topic) => ({ topic, records: await recordsOf(stream, topic) })));
  const changes = changesTopic(stream.prefix, register);
  const groups = [materializeGroup(stream.prefix), watchGroup(stream.prefix)];
  const committed = await Promise.all(groups.map((group) => stream.offsets.committed(group, changes)));
  return {
    async putBack() {
      const admin = stream.kafka.admin();
      const producer = stream.kafka.producer({
        createPartitioner:
          () =>
          ({ message }) =>
            message.partition!,
      });
      await Promise.all([admin.connect(), producer.connect()]);
      await admin.deleteTopics({ topics });
      while ((await admin.listTopics()).some((topic) => topics.includes(topic))) await sleep(100);
      await prepareStream(stream, register);
      for (const { topic, records } of copied)
        if (records.length > 0) await producer.send({ topic, messages: records });
      for (const [index, groupId] of groups.entries()) {
        const partitions = committed[index]!.map((offset, partition) => ({ partition, offset: String(offset) }));
        await admin.setOffsets({ groupId, topic: changes, partitions });
      }
      await Promise.all([admin.disconnect(), producer.disconnect()]);
    },
  };
}

const tables = ['taxpayer', 'register_change'];

/** Copies the tables of state and history in ClickHouse. */
export async function copyClickhouse({ clickhouse }: StreamHarness): Promise<Backup> {
  const run = (query: string) => clickhouse.command({ query, clickhouse_settings: { async_insert: 0 } });
  for (const table of tables) {
    await run(`DROP TABLE IF EXISTS copy_of_${table}`);
    await run(`CREATE TABLE copy_of_${table} AS ${table}`);
    await run(`INSERT INTO copy_of_${table} SELECT * FROM ${table}`);
  }
  return {
    async putBack() {
      for (const table of tables) {
        await run(`TRUNCATE TABLE ${table}`);
        await run(`INSERT INTO ${table} SELECT * FROM copy_of_${table}`);
      }
    },
  };
}

/** Folds the changes topic: the newest edition's row of each key. The same key and edition twice must be one content. */
export async function foldTopic(stream: StreamHarness, register: RegisterName): Promise<Map<string, Change>> {
  const newest = new Map<string, Change>();
  const contents = new Map<string, string>();
  for (const { value } of await recordsOf(stream, changesTopic(stream.prefix, register))) {
    const change = decodeChange(value, register);
    const identity = `${change.ruc}/${change.edition}`;
    const content = JSON.stringify([change.op, change.before, change.after, change.detectedAt]);
    if ((contents.get(identity) ?? content) !== content) throw new Error(`${identity} stands for two changes`);
    contents.set(identity, content);
    if ((newest.get(change.ruc)?.edition ?? 0) <= change.edition) newest.set(change.ruc, change);
  }
  return new Map([...newest].filter(([, { after }]) => after !== null));
}
