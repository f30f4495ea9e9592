import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { servingTables, wordTable } from '../../../../pipelines/consumers/materialize.ts';
import { LostData } from '../../../../pipelines/replay/lost-data.ts';
import { type ClickHouseClient, insertSettings, makeClickhouse } from '../../../../pipelines/runtime/clickhouse.ts';
import { makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { type RegisterName, registers } from '../../../../schemas/registers.ts';
import { migratedClickhouseDatabase, migratedDatabase } from '../../../support/engines/isolation.ts';
import { rucOf } from '../../../support/registers/companies.ts';

// Two registers with several editions, written where the pipeline would write them. Each test damages what ClickHouse
// holds of them, and the tables are put back. test/integration/api/lost-data.test.ts has a register of the whole chain.
const editions = 5;
const tables = [...Object.values(servingTables), wordTable];
let pool: Pool;
let clickhouse: ClickHouseClient;
let close: () => Promise<void>;

const live = new Map<string, Set<string>>();

/** Writes an edition of these changes into both stores. `r` is a row of a first edition. */
async function write(register: RegisterName, number: number, changes: readonly (readonly [op: string, ruc: string])[]) {
  const { code } = registers[register];
  const rows = live.get(register) ?? live.set(register, new Set()).get(register)!;
  for (const [op, ruc] of changes) op === 'd' ? rows.delete(ruc) : rows.add(ruc);
  const insert = (table: string, values: readonly object[]) =>
    clickhouse.insert({ table, values, format: 'JSONEachRow', clickhouse_settings: insertSettings });
  const deleted = (op: string) => (op === 'd' ? 1 : 0);
  const kept = changes.filter(([op]) => op !== 'r');
  const times = { before: null, after: null, detected_at: '2026-11-26 07:00:00.000', corrects: null };
  await insert(
    'register_change',
    kept.map(([op, ruc]) => ({ ruc, register: code, edition: number, op, ...times })),
  );
  if (register === 'padron_reducido') {
    await insert(wordTable, [{ word: 'EMPRESA' }, { word: 'SUR' }]);
    const name = { name: 'EMPRESA SUR', words: 'EMPRESA SUR', length: 11 };
    await insert(
      'ranked_name',
      changes.map(([op, ruc]) => ({ ...name, ruc, version: number, is_deleted: deleted(op) })),
    );
  }
  const state = { register: code, version: number, row: '[]' };
  await insert(
    'taxpayer',
    changes.map(([op, ruc]) => ({ ...state, ruc, is_deleted: deleted(op) })),
  );
  const counts = { baseline: changes.length - kept.length, stateRows: rows.size, rowsByKind: { company: rows.size } };
  await pool.query(
    `WITH made AS (INSERT INTO publication (register, sha256, fecha_dato, published_at, state)
       VALUES ($1, $1 || $2::text, '2026-11-20', now(), 'publicada') RETURNING id)
     INSERT INTO edition (register, number, publication_id, fecha_dato, published_at, detected_at, change_file_sha256,
       parser_version, columns, changes, counts, publicada_at, materializada_at)
     SELECT $1, $2::bigint, id, '2026-11-20', now(), now(), 'a', 1, '{}', $3, $4, now(), now() FROM made`,
    [register, number, changes.length, counts],
  );
}

const run = (query: string) =>
  clickhouse.command({ query, clickhouse_settings: { mutations_sync: '2', async_insert: 0 } });

/** A new watch has no memory, so it always counts. */
const lost = () => new LostData({ pool, clickhouse, confirmMs: 0 });

const versionOf = (table: string) => (table === servingTables.history ? 'edition' : 'version');

/**
 * Puts back what the copies hold, each edition as a part of its own, which stays a part of its own.
 * @param only the rows of a table to put back; all if omitted
 */
async function putBack(only: Partial<Record<string, string>> = {}): Promise<void> {
  for (const table of tables) {
    const copied = `SELECT * FROM copy_of_${table} WHERE ${only[table] ?? '1'}`;
    await run(`DROP TABLE IF EXISTS ${table} SYNC`);
    await run(`CREATE TABLE ${table} AS copy_of_${table}`);
    await run(`SYSTEM STOP MERGES ${table}`);
    if (table === wordTable) await run(`INSERT INTO ${table} ${copied}`);
    else
      for (let number = 1; number <= editions; number += 1)
        await run(`INSERT INTO ${table} ${copied} AND ${versionOf(table)} = ${number}`);
  }
}

/** Merges each table to one part, which drops superseded rows. */
async function merge(): Promise<void> {
  for (const table of tables) await run(`SYSTEM START MERGES ${table}`);
  for (const table of tables) await run(`OPTIMIZE TABLE ${table} FINAL`);
}

beforeAll(async () => {
  const database = await migratedDatabase(inject('endpoints'));
  const store = await migratedClickhouseDatabase(inject('endpoints'));
  pool = makePool(database.DATABASE_URL, 'test', 2);
  clickhouse = makeClickhouse(store.CLICKHOUSE_URL, 'test', { requestTimeoutMs: 60_000, connections: 2 });
  close = async () => {
    await Promise.all([pool.end(), clickhouse.close()]);
    await Promise.all([database.drop(), store.drop()]);
  };
  const companies = Array.from({ length: 300 }, (_, number) => rucOf(number));
  await write(
    'padron_reducido',
    1,
    companies.map((ruc) => ['r', ruc]),
  );
  for (let number = 2; number <= editions; number += 1) {
    const changed = companies.filter((_, index) => index % 10 === number);
    // One company disappears in edition 2 and returns in edition 3. Another one disappears in the last edition.
    const presence = { 2: ['d', companies[0]!], 3: ['c', companies[0]!], 5: ['d', companies[1]!] } as const;
    const more = presence[number as 2 | 3 | 5];
    await write('padron_reducido', number, [...changed.map((ruc) => ['u', ruc] as const), ...(more ? [more] : [])]);
  }
  const barred = ['20500000013', '10440000014', '88000000019'];
  await write(
    'sancionados',
    1,
    barred.map((ruc) => ['r', ruc]),
  );
  await write('sancionados', 2, [
    ['d', barred[0]!],
    ['u', barred[1]!],
  ]);
  for (const table of tables) {
    await run(`CREATE TABLE copy_of_${table} AS ${table}`);
    await run(`INSERT INTO copy_of_${table} SELECT * FROM ${table}`);
  }
});
afterAll(() => close?.());
beforeEach(() => putBack());

describe('nothing is lost', () => {
  test('in whole tables, in merged parts and after a replay of every row', async () => {
    expect(await lost().problem()).toBeNull();
    await merge();
    expect(await lost().problem()).toBeNull();
    for (const table of tables) await run(`INSERT INTO ${table} SELECT * FROM copy_of_${table}`);
    expect(await lost().problem()).toBeNull();
  });

  test('while a later edition is being written, whatever part of it is there', async () => {
    const materialised = (time: string) =>
      pool.query(
        `UPDATE edition SET materializada_at = ${time} WHERE register = 'padron_reducido' AND number = ${editions}`,
      );
    const half = Object.fromEntries(
      Object.values(servingTables).map((table) => [table, `NOT (${versionOf(table)} = ${editions} AND ruc % 2 = 0)`]),
    );
    const { history, names } = servingTables;
    const stages = [{ ...half, [history]: '1' }, { ...half, [history]: '1', [names]: '1' }, half];
    try {
      await materialised('NULL');
      for (const stage of stages) {
        await putBack(stage);
        expect(await lost().problem()).toBeNull();
        // Rows that the later edition replaced may have been merged away.
        await merge();
        expect(await lost().problem()).toBeNull();
      }
    } finally {
      await materialised('now()');
    }
    expect(await lost().problem()).toContain('clickhouse_lost: of padron_reducido');
  });

  test('while a rebuild runs: the last answer stands until it ends', async () => {
    const watching = lost();
    expect(await watching.problem()).toBeNull();
    const client = await pool.connect();
    await client.query("SELECT pg_advisory_lock(hashtext('padron rebuild'))");
    await run('TRUNCATE TABLE taxpayer');
    expect(await watching.problem()).toBeNull();
    await client.query("SELECT pg_advisory_unlock(hashtext('padron rebuild'))");
    client.release();
    expect(await watching.problem()).toContain('clickhouse_behind');
  });
});

describe('a loss is found, with the command that mends it', () => {
  const daily = 'npx padron rebuild --register padron_reducido';

  test('a table that does not exist', async () => {
    await run('DROP TABLE register_change SYNC');
    expect(await lost().problem()).toBe(
      'clickhouse_lost: ClickHouse has no table register_change: run `npx padron migrate`, then `npx padron rebuild`',
    );
  });

  test('a whole table', async () => {
    await run('TRUNCATE TABLE taxpayer');
    expect(await lost().problem()).toBe(
      `clickhouse_behind: ClickHouse ends at edition 0 of padron_reducido, and the catalogue serves 5: run \`${daily}\`; ` +
        'clickhouse_behind: ClickHouse ends at edition 0 of sancionados, and the catalogue serves 2: run ' +
        '`npx padron rebuild --register sancionados`',
    );
  });

  test('the rows of one register', async () => {
    await putBack({ taxpayer: `register <> ${registers.sancionados.code}` });
    expect(await lost().problem()).toMatch(/^clickhouse_behind: [^;]* of sancionados[^;]*$/);
  });

  test.each([
    ...[1, 2, 3, 4, 5].map((edition) => [servingTables.state, edition, 'rows of the state'] as const),
    ...[2, 3, 4, 5].map((edition) => [servingTables.history, edition, 'rows of the history'] as const),
    [servingTables.names, 1, 'names of companies'] as const,
  ])('a part of %s with edition %i', async (table, edition, what) => {
    const result = await clickhouse.query({
      query: `SELECT DISTINCT _part AS part FROM ${table} WHERE ${versionOf(table)} = ${edition}`,
      format: 'JSONEachRow',
    });
    const parts = await result.json<{ part: string }>();
    expect(parts).toHaveLength(1);
    await run(`ALTER TABLE ${table} DROP PART '${parts[0]!.part}'`);
    const problem = await lost().problem();
    if (table === servingTables.state && edition === 5)
      expect(problem).toContain('ends at edition 4 of padron_reducido');
    else expect(problem).toMatch(new RegExp(`of padron_reducido, ClickHouse lacks at least \\d+ ${what}`));
    expect(problem).toContain(`\`${daily}\``);
  });

  test('everything after an older copy', async () => {
    const upTo = (number: number) =>
      Object.fromEntries(Object.values(servingTables).map((table) => [table, `${versionOf(table)} <= ${number}`]));
    await putBack(upTo(3));
    expect(await lost().problem()).toContain('clickhouse_behind: ClickHouse ends at edition 3 of padron_reducido');
    await putBack(upTo(1));
    expect(await lost().problem()).toContain('; clickhouse_behind: ClickHouse ends at edition 1 of sancionados');
  });

  test('the index of names, and words of its vocabulary', async () => {
    await run('TRUNCATE TABLE ranked_name');
    expect(await lost().problem()).toMatch(
      /lacks at least \d+ names of companies: run `npx padron rebuild --register padron_reducido`$/,
    );
    await putBack({ [wordTable]: `word <> 'EMPRESA'` });
    expect(await lost().problem()).toContain('lacks at least 1 words of names');
  });

  test('at once when a table has too few rows, else when the tables have come to rest', async () => {
    const watching = lost();
    expect([await watching.problem(), await watching.isShort()]).toEqual([null, false]);
    // The table still has as many rows as are live, because rows of deleted keys stay in it.
    await putBack({ taxpayer: `NOT (register = 1 AND version = 3 AND ruc = ${rucOf(0)})` });
    expect([await watching.problem(), await watching.isShort()]).toEqual([null, false]);
    expect(await watching.problem()).toContain('rows of the state');
    await putBack();
    expect(await watching.problem()).toBeNull();
    await run('TRUNCATE TABLE taxpayer');
    expect(await watching.isShort()).toBe(true);
    expect(await watching.problem()).toContain('clickhouse_behind');
  });
});

test('a catalogue older than ClickHouse is no loss of ClickHouse', async () => {
  await run(`INSERT INTO taxpayer VALUES (${rucOf(9)}, 1, 6, 1, '[]')`);
  expect(await lost().problem()).toBeNull();
});

test('a ClickHouse that does not answer is no loss', async () => {
  const away = makeClickhouse('http://padron:x@127.0.0.1:1/padron', 'test', {
    requestTimeoutMs: 1_000,
    connections: 1,
  });
  await expect(new LostData({ pool, clickhouse: away }).problem()).rejects.toThrow();
  await away.close();
});
