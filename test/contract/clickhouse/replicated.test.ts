import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, inject, test } from 'vitest';
import { replicationSettings } from '../../../pipelines/runtime/clickhouse.ts';
import { currentViews } from '../../../schemas/clickhouse/current-views.ts';
import { databaseEngineOf, replicatedSql, withReplicatedFiles } from '../../../schemas/clickhouse/replicated.ts';
import { quietClient } from '../../support/engines/clickhouse.ts';

// The statements for a cluster that replicates by itself. No such cluster runs here, so the engine only parses them.
const folder = new URL('../../../schemas/clickhouse', import.meta.url).pathname;
const golden = new URL('../../fixtures/clickhouse/replicated.sql', import.meta.url).pathname;
/** How the library that applies the migrations splits a file. */
const { sql_queries: statementsOf } = createRequire(import.meta.url)('clickhouse-migrations/lib/sql-parse.js') as {
  sql_queries: (text: string) => string[];
};

const database = `CREATE DATABASE IF NOT EXISTS "padron" ENGINE=${databaseEngineOf('padron', { isReplicated: true })}`;
const statements = await withReplicatedFiles(folder, async (copy) => [
  database,
  ...readdirSync(copy)
    .sort()
    .flatMap((file) => statementsOf(readFileSync(`${copy}/${file}`, 'utf8'))),
  ...currentViews(),
]);

const client = () => quietClient(inject('endpoints').CLICKHOUSE_URL);

/** Resolves with the parser's refusal, or null. */
async function refusalOf(statement: string): Promise<string | null> {
  const engine = client();
  try {
    await (await engine.query({ query: `EXPLAIN AST ${statement}`, format: 'TabSeparated' })).text();
    return null;
  } catch (error) {
    return (error as { type?: string }).type ?? String(error);
  } finally {
    await engine.close();
  }
}

test('each statement for a replicating cluster is read by the engine and stands in the file that a person can review', async () => {
  const text = `${statements.join(';\n\n')};\n`;
  await expect(text).toMatchFileSnapshot(golden);
  for (const statement of statements) expect(await refusalOf(statement), statement).toBeNull();
  expect(await refusalOf('CREATE TABLE t (a UInt8) ENGINE = ReplicatedMergeTree( ORDER BY a')).toBe('SYNTAX_ERROR');
});

test('every table is replicated, without arguments and without a statement for a whole cluster', () => {
  const tables = statements.filter((statement) => /^CREATE TABLE/.test(statement));
  expect(tables.length).toBeGreaterThan(3);
  for (const table of tables)
    expect(table).toMatch(/ENGINE = Replicated(Replacing)?MergeTree(\((version)\))? ORDER BY/);
  expect(statements.join('\n')).not.toMatch(/ON CLUSTER/i);
  expect(replicatedSql(statements.join('\n'))).toBe(statements.join('\n'));
});

test('the server knows every setting of a replicating cluster, and none is sent without being asked for', async () => {
  expect(replicationSettings({ isSequential: false, isReplicated: false })).toEqual({});
  const engine = client();
  const names = Object.keys(replicationSettings({ isSequential: true, isReplicated: true }));
  const found = await engine.query({
    query: 'SELECT name FROM system.settings WHERE has({names:Array(String)}, name)',
    query_params: { names },
    format: 'JSONEachRow',
  });
  expect((await found.json<{ name: string }>()).map(({ name }) => name).sort()).toEqual(names.sort());
  await engine.close();
});

test('a database gets the engine of its setting, and otherwise none', () => {
  expect(databaseEngineOf('padron', { isReplicated: false })).toBeUndefined();
  expect(databaseEngineOf('padron', { isReplicated: true, databaseEngine: 'Shared' })).toBe('Shared');
});
