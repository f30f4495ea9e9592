import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@clickhouse/client';
import { Connection, WorkflowClient } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import pg from 'pg';
import type { Endpoints } from '../../../deploy/local/config.ts';
import { migrateClickhouse, migratePostgres } from '../../../pipelines/runtime/migrate.ts';

// Suites share one stack. Each takes unique names, so it never sees another's data and needs no cleaning up first.

const namespaceTimeoutMs = 30_000;
const namespaceRetention = '1 day';

export interface FreshDatabase {
  DATABASE_URL: string;
  /** Deletes the database and ends the sessions that are still open. */
  drop(): Promise<void>;
}

/** Creates an empty PostgreSQL database, or a copy of `template`. */
export async function freshDatabase(endpoints: Endpoints, template = 'template1'): Promise<FreshDatabase> {
  const name = freshName('test');
  const url = new URL(endpoints.DATABASE_URL);
  url.pathname = `/${name}`;
  await runSql(endpoints.DATABASE_URL, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return {
    DATABASE_URL: url.href,
    drop: () => runSql(endpoints.DATABASE_URL, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

const templateName = 'template_padron';
const missingDatabase = '3D000';

/**
 * Migrates one database of each engine, which `migratedDatabase` and `migratedClickhouseDatabase` copy in less time. The
 * address of an engine that was not started is empty.
 */
export async function makeTemplates({ DATABASE_URL, CLICKHOUSE_URL }: Partial<Endpoints>): Promise<void> {
  const inTemplate = (engineUrl: string) => Object.assign(new URL(engineUrl), { pathname: `/${templateName}` }).href;
  const postgres = async (engineUrl: string) => {
    await runSql(engineUrl, `CREATE DATABASE ${templateName}`);
    await migratePostgres(inTemplate(engineUrl));
  };
  await Promise.all([
    DATABASE_URL ? postgres(DATABASE_URL) : undefined,
    CLICKHOUSE_URL ? migrateClickhouse(inTemplate(CLICKHOUSE_URL)) : undefined,
  ]);
}

/** Creates a PostgreSQL database with the product's tables. */
export async function migratedDatabase(endpoints: Endpoints): Promise<FreshDatabase> {
  try {
    return await freshDatabase(endpoints, templateName);
  } catch (error) {
    // A stack that was not started for a test run has no template.
    if ((error as { code?: string }).code !== missingDatabase) throw error;
    const database = await freshDatabase(endpoints);
    await migratePostgres(database.DATABASE_URL);
    return database;
  }
}

export interface FreshClickhouseDatabase {
  CLICKHOUSE_URL: string;
  database: string;
  drop(): Promise<void>;
}

/** Creates an empty ClickHouse database. */
export async function freshClickhouseDatabase(endpoints: Endpoints): Promise<FreshClickhouseDatabase> {
  const database = freshName('test');
  const url = new URL(endpoints.CLICKHOUSE_URL);
  url.pathname = `/${database}`;
  await runClickhouse(endpoints.CLICKHOUSE_URL, `CREATE DATABASE ${database}`);
  return {
    CLICKHOUSE_URL: url.href,
    database,
    drop: () => runClickhouse(endpoints.CLICKHOUSE_URL, `DROP DATABASE IF EXISTS ${database}`),
  };
}

/** Creates a ClickHouse database with the product's tables. */
export async function migratedClickhouseDatabase(endpoints: Endpoints): Promise<FreshClickhouseDatabase> {
  const fresh = await freshClickhouseDatabase(endpoints);
  const client = createClient({ url: endpoints.CLICKHOUSE_URL });
  try {
    // Views read from tables, so they come last.
    const tables = await client.query({
      query: `SELECT create_table_query AS statement FROM system.tables WHERE database = '${templateName}' ORDER BY engine = 'View'`,
      format: 'JSONEachRow',
    });
    const statements = (await tables.json<{ statement: string }>()).map(({ statement }) => statement);
    for (const query of statements) {
      await client.command({ query: query.replaceAll(`${templateName}.`, `${fresh.database}.`) });
    }
    // A stack that was not started for a test run has no template.
    if (statements.length === 0) await migrateClickhouse(fresh.CLICKHOUSE_URL);
    else
      await client.command({
        query: `INSERT INTO ${fresh.database}._migrations SELECT * FROM ${templateName}._migrations`,
      });
  } finally {
    await client.close();
  }
  return fresh;
}

/** A unique prefix for the topics and consumer groups of one suite. */
export function freshTopicPrefix(): string {
  return `${freshName('test')}.`;
}

/** Registers a Temporal namespace and waits until workers and clients can use it. */
export async function freshNamespace(endpoints: Endpoints): Promise<string> {
  const namespace = freshName('test');
  const connection = await Connection.connect({ address: endpoints.TEMPORAL_ADDRESS });
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs(namespaceRetention),
    });
    await untilUsable(connection, namespace);
  } finally {
    await connection.close();
  }
  return namespace;
}

/** The server's services learn of a namespace at different times; starting a workflow involves all that matter. */
async function untilUsable(connection: Connection, namespace: string): Promise<void> {
  const client = new WorkflowClient({ connection, namespace });
  const deadline = Date.now() + namespaceTimeoutMs;
  for (;;) {
    try {
      const handle = await client.start('probe', { taskQueue: 'probe', workflowId: 'probe' });
      await handle.terminate();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(100);
    }
  }
}

function freshName(kind: string): string {
  return `${kind}_${randomBytes(6).toString('hex')}`;
}

async function runSql(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

async function runClickhouse(url: string, statement: string): Promise<void> {
  const client = createClient({ url });
  try {
    await client.command({ query: statement });
  } finally {
    await client.close();
  }
}
