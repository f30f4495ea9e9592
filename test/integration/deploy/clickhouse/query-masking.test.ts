import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeTaxpayers } from '../../../../api/queries/look-up.ts';
import { makeRegisterChanges } from '../../../../api/queries/register-changes.ts';
import { repositoryRoot } from '../../../../deploy/local/config.ts';
import type { ClickHouseClient } from '../../../../pipelines/runtime/clickhouse.ts';
import { migrateClickhouse } from '../../../../pipelines/runtime/migrate.ts';
import { type ClickhouseProcess, quietClient, startClickhouse } from '../../../support/engines/clickhouse.ts';
import { insertTaxpayers } from '../../../support/registers/served-register.ts';

// No engine keeps the RUC of a natural person who was looked up. A server masks it by the rule of deploy/clickhouse,
// and the embedded engine keeps no queries at all.

const person = '10990000013';
const others = ['15990000012', '16990000011', '17990000010'];
const company = '20990000019';

let data: string;
let process: ClickhouseProcess;
let clickhouse: ClickHouseClient;
let output = '';

beforeAll(async () => {
  data = mkdtempSync(path.join(tmpdir(), 'padron-masking-'));
  process = await startClickhouse(data);
  for (const stream of [process.child.stdout!, process.child.stderr!]) stream.on('data', (text) => (output += text));
  await migrateClickhouse(process.url);
  clickhouse = quietClient(process.url);
});
afterAll(async () => {
  await clickhouse.close();
  await process.end('SIGTERM');
  rmSync(data, { recursive: true, force: true });
});

async function ask<Row>(query: string, parameters: Record<string, unknown> = {}): Promise<Row[]> {
  const result = await clickhouse.query({ query, query_params: parameters, format: 'JSONEachRow' });
  return result.json<Row>();
}

/** Applies the rule as a server does, with the engine's own expressions. */
async function masked(text: string): Promise<string> {
  const xml = readFileSync(path.join(repositoryRoot, 'deploy/clickhouse/query-masking.xml'), 'utf8');
  const [regexp, replacement] = ['regexp', 'replace'].map(
    (name) => new RegExp(`<${name}>(.*)</${name}>`).exec(xml)![1],
  );
  const query = 'SELECT replaceRegexpAll({text: String}, {regexp: String}, {replacement: String}) AS shown';
  const [row] = await ask<{ shown: string }>(query, { text, regexp, replacement });
  return row!.shown;
}

test.each([
  [
    `WHERE ruc IN (${person},${others.join(',')},${company})`,
    `WHERE ruc IN (10*******13,15*******12,16*******11,17*******10,${company})`,
  ],
  [`${person}`, '10*******13'],
  [`WHERE ruc = ${person} LIMIT 9`, 'WHERE ruc = 10*******13 LIMIT 9'],
  [`/?param_rucs=%5B${person}%2C%27${person}%27%5D&x=1`, '/?param_rucs=%5B10*******13%2C%2710*******13%27%5D&x=1'],
  [
    'edition = 1764288000000 AND 109900000131 = 210990000013',
    'edition = 1764288000000 AND 109900000131 = 210990000013',
  ],
])('a server shows %s masked', async (text, shown) => {
  expect(await masked(text)).toBe(shown);
});

test('the embedded engine keeps no question: neither its system tables nor a file beside the data hold the RUC', async () => {
  await insertTaxpayers(clickhouse, [{ line: `${person}|PERSONA PLANTADA|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|` }]);
  const limits = { waitMs: 0, maxKeys: 10, inFlight: 1 };
  expect(await makeTaxpayers(clickhouse, limits).find(person)).toHaveLength(1);
  const changes = makeRegisterChanges(clickhouse, limits);
  await Promise.all([changes.keys(person), changes.earlierRows(person)]);
  await ask('SELECT 1 WHERE 1 IN {rucs: Array(UInt64)}', { rucs: [Number(person)] });

  expect(await tablesThatHold(person)).toEqual([]);
  // The same search does find a text that is there.
  await expect(ask('SELECT nothing_of_this_name')).rejects.toThrow();
  expect(await tablesThatHold('nothing_of_this_name')).toEqual(['errors']);
  expect(output).not.toContain(person);
  const kept = readdirSync(data, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  const logs = kept.filter(({ name }) => /log|txt|err/.test(name));
  expect(logs.filter(({ parentPath, name }) => readFileSync(path.join(parentPath, name)).includes(person))).toEqual([]);
});

/**
 * System tables about queries that have the text in any column. The text is sent in two halves, because the search
 * itself is a query.
 */
async function tablesThatHold(text: string): Promise<string[]> {
  const tables = await ask<{ name: string }>(`SELECT name FROM system.tables WHERE database = 'system'
    AND match(name, 'log|process|quer|error|warning|crash|mutation')`);
  expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['processes', 'errors', 'query_cache']));
  const halves = { first: text.slice(0, 5), second: text.slice(5) };
  const holding: string[] = [];
  for (const { name } of tables) {
    const query = `SELECT count() AS found FROM system.\`${name}\`
      WHERE position(toString(tuple(*)), concat({first: String}, {second: String})) > 0`;
    const [row] = await ask<{ found: string }>(query, halves);
    if (Number(row!.found) > 0) holding.push(name);
  }
  return holding;
}
