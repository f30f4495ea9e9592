import type { ClickHouseClient } from '@clickhouse/client';
import { describe, expect, test } from 'vitest';
import { rawRequest } from '../../support/engines/clickhouse.ts';
import { inFreshDatabase } from './database.ts';

let client: ClickHouseClient;
let url: string;

inFreshDatabase((made) => {
  ({ client, url } = made);
});

const rows = async <T>(query: string, more: Record<string, unknown> = {}) =>
  (await client.query({ query, format: 'JSONEachRow', ...more })).json<T>();
const firstValue = async (query: string, more: Record<string, unknown> = {}) =>
  Object.values((await rows<Record<string, unknown>>(query, more))[0]!)[0];
const failureOf = (query: string, more: Record<string, unknown> = {}) =>
  rows(query, more).then(
    () => ({ code: undefined, type: undefined }),
    (error: { code?: string; type?: string }) => ({ code: error.code, type: error.type }),
  );

test('answers pings', async () => {
  expect(await client.ping()).toEqual({ success: true });
  expect(await client.ping({ select: true })).toEqual({ success: true });
  const { body, status } = await rawRequest(url, {}, { method: 'GET', path: '/ping', headers: { authorization: '' } });
  expect({ body, status }).toEqual({ body: 'Ok.\n', status: 200 });
});

describe('the account', () => {
  const wrong = Buffer.from('padron:wrong').toString('base64');

  test('is refused with a wrong password, an unknown name and without credentials', async () => {
    for (const authorization of [`Basic ${wrong}`, `Basic ${Buffer.from('nobody:x').toString('base64')}`]) {
      const answer = await rawRequest(url, { query: 'SELECT 1' }, { headers: { authorization } });
      expect(answer.headers['x-clickhouse-exception-code']).toBe('516');
      expect(answer.status).toBe(403);
      expect(answer.body).toMatch(/^Code: 516\. DB::Exception: .*\(AUTHENTICATION_FAILED\)/);
    }
    const without = await rawRequest(url, { query: 'SELECT 1' }, { headers: { authorization: '' } });
    expect([401, 403]).toContain(without.status);
  });

  test('a refused account changes nothing', async () => {
    await client.command({ query: 'CREATE TABLE kept (a UInt8) ENGINE = MergeTree ORDER BY a' });
    await rawRequest(url, { query: 'DROP TABLE kept' }, { headers: { authorization: `Basic ${wrong}` } });
    expect(
      await firstValue("SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = 'kept'"),
    ).toBe(1);
  });

  test('may also be named in headers or in the address', async () => {
    const { username: user, password } = new URL(url);
    const query = 'SELECT 7';
    const headers = { authorization: '', 'X-ClickHouse-User': user, 'X-ClickHouse-Key': password };
    expect((await rawRequest(url, { query }, { headers })).body).toBe('7\n');
    expect((await rawRequest(url, { query, user, password }, { headers: { authorization: '' } })).body).toBe('7\n');
  });
});

describe('formats', () => {
  const query = "SELECT number AS n, concat('x', toString(number)) AS s FROM numbers(2)";

  test('text formats', async () => {
    const text = async (format: string) => (await rawRequest(url, { query: `${query} FORMAT ${format}` })).body;
    expect(await text('TabSeparated')).toBe('0\tx0\n1\tx1\n');
    expect(await text('TabSeparatedWithNamesAndTypes')).toBe('n\ts\nUInt64\tString\n0\tx0\n1\tx1\n');
    expect(await text('CSV')).toBe('0,"x0"\n1,"x1"\n');
    expect(await text('CSVWithNames')).toBe('"n","s"\n0,"x0"\n1,"x1"\n');
    expect((await text('JSONCompactEachRow')).replaceAll(' ', '')).toBe('[0,"x0"]\n[1,"x1"]\n');
    expect((await text('JSONCompactEachRowWithNames')).replaceAll(' ', '')).toBe('["n","s"]\n[0,"x0"]\n[1,"x1"]\n');
    expect(await text('JSONStringsEachRow')).toBe('{"n":"0","s":"x0"}\n{"n":"1","s":"x1"}\n');
    expect(JSON.parse(await text('JSONColumnsWithMetadata'))).toMatchObject({ data: { s: ['x0', 'x1'] } });
    expect(JSON.parse(await text('JSON'))).toMatchObject({
      rows: 2,
      data: [
        { n: 0, s: 'x0' },
        { n: 1, s: 'x1' },
      ],
    });
    expect(JSON.parse(await text('JSONObjectEachRow'))).toMatchObject({ row_1: { n: 0 }, row_2: { n: 1 } });
    expect(await text('Values')).toBe("(0,'x0'),(1,'x1')");
  });

  test('binary formats', async () => {
    const result = await client.exec({
      query: "SELECT toUInt16(258) AS a, toFixedString(unhex('0A0A'), 2) AS b FORMAT RowBinary",
    });
    const bytes = Buffer.concat(await result.stream.toArray());
    expect(bytes).toEqual(Buffer.from([2, 1, 10, 10]));
    const parquet = await client.exec({ query: 'SELECT number FROM numbers(10) FORMAT Parquet' });
    const file = Buffer.concat(await parquet.stream.toArray());
    expect([file.subarray(0, 4).toString(), file.subarray(-4).toString()]).toEqual(['PAR1', 'PAR1']);
  });

  test('the format may come from the address or a header, and the text wins', async () => {
    expect((await rawRequest(url, { query: 'SELECT 1, 2', default_format: 'CSV' })).body).toBe('1,2\n');
    expect((await rawRequest(url, { query: 'SELECT 1, 2' }, { headers: { 'X-ClickHouse-Format': 'CSV' } })).body).toBe(
      '1,2\n',
    );
    const answer = await rawRequest(url, { query: 'SELECT 1, 2 FORMAT TSV', default_format: 'CSV' });
    expect(answer.body).toBe('1\t2\n');
    expect(answer.headers['x-clickhouse-format']).toMatch(/^(TSV|TabSeparated)$/);
  });

  test('clauses and comments around the format', async () => {
    const text = async (body: string) => (await rawRequest(url, {}, { body })).body;
    expect(await text('SELECT 1 FORMAT CSV;  \n')).toBe('1\n');
    expect(await text('SELECT 1 -- FORMAT JSON\n')).toBe('1\n');
    expect(await text("SELECT ';', 'FORMAT JSON' /* ; /* nested */ ; */ FORMAT CSV -- end")).toBe(
      '";","FORMAT JSON"\n',
    );
    expect(await text("SELECT getSetting('max_block_size') FORMAT CSV SETTINGS max_block_size = 77")).toBe('77\n');
    expect(await text('WITH 3 AS x SELECT x AS format')).toBe('3\n');
    expect(await text('(SELECT 1) UNION ALL (SELECT 1)')).toBe('1\n1\n');
    expect(await text('SELECT $tag$;FORMAT JSON$tag$')).toBe(';FORMAT JSON\n');
    expect(await text("SHOW DATABASES LIKE 'system'")).toBe('system\n');
    expect(await text('SELECT 1 WHERE 0')).toBe('');
    expect(await text('SELECT 1 FORMAT Null')).toBe('');
    expect(await text('EXISTS TABLE system.one')).toBe('1\n');
    expect(await text('DESCRIBE TABLE system.one')).toMatch(/^dummy\tUInt8/);
  });

  test('the text may be split between address and body', async () => {
    expect((await rawRequest(url, { query: 'SELECT 1 +' }, { body: '41 FORMAT CSV' })).body).toBe('42\n');
  });
});

describe('parameters', () => {
  const strange = 'O\'Higgins "x" \\ \t tab \n line \r \u0001 ñ 鱼 {a:String}';

  test.each([
    ['UInt64', '18446744073709551615', '18446744073709551615'],
    ['Int32', -5, -5],
    ['String', strange, strange],
    ['Date', '2026-11-28', '2026-11-28'],
    ["DateTime64(3, 'UTC')", '2026-11-28 01:02:03.004', '2026-11-28 01:02:03.004'],
    ['Array(UInt64)', [1, 2, 3], [1, 2, 3]],
    ['Array(String)', ["a'b", 'c,d', '[e]', strange], ["a'b", 'c,d', '[e]', strange]],
    ['Array(Array(String))', [['a'], [], ["b'"]], [['a'], [], ["b'"]]],
    ['Nullable(String)', null, null],
    ['Map(String, UInt8)', { a: 1, "b'": 2 }, { a: 1, "b'": 2 }],
    ['Bool', true, true],
  ])('%s', async (type, value, expected) => {
    const result = await firstValue(`SELECT {value:${type}} AS v`, {
      query_params: { value },
      clickhouse_settings: type === 'UInt64' ? { output_format_json_quote_64bit_integers: 1 } : {},
    });
    expect(result).toEqual(expected);
  });

  test('identifiers', async () => {
    const query = 'SELECT count() > 0 AS c FROM {database:Identifier}.{table:Identifier}';
    expect(await firstValue(query, { query_params: { database: 'system', table: 'one' } })).toBe(1);
  });

  test('a missing one is an error, and an unknown one is not used', async () => {
    expect(await failureOf('SELECT {a:UInt8}')).toEqual({ code: '456', type: 'UNKNOWN_QUERY_PARAMETER' });
    expect(await firstValue('SELECT 1', { query_params: { a: 1 } })).toBe(1);
  });

  test('a value cannot become SQL', async () => {
    const value = "1); DROP TABLE kept; SELECT ('";
    expect(await firstValue('SELECT {value:String}', { query_params: { value } })).toBe(value);
  });
});

describe('settings', () => {
  test('hold for their query and not for later ones', async () => {
    const query = "SELECT getSetting('max_block_size') AS v";
    const before = await firstValue(query);
    expect(await firstValue(query, { clickhouse_settings: { max_block_size: '1234' } })).toBe(1234);
    const after = await Promise.all(Array.from({ length: 20 }, () => firstValue(query)));
    expect(new Set(after)).toEqual(new Set([before]));
  });

  test('SET and USE without a session are forgotten', async () => {
    await client.command({ query: 'SET max_block_size = 99' });
    await client.command({ query: 'USE system' });
    for (let round = 0; round < 10; round += 1) {
      expect(await firstValue("SELECT getSetting('max_block_size') AS v")).not.toBe(99);
      expect(await firstValue('SELECT currentDatabase() AS d')).toBe(new URL(url).pathname.slice(1));
    }
  });

  test('values cannot become SQL', async () => {
    const value = "a', max_block_size = '1";
    const query = "SELECT getSetting('log_comment') AS v";
    expect(await firstValue(query, { clickhouse_settings: { log_comment: value } })).toBe(value);
  });

  test('unknown setting, and a name that is none', async () => {
    const more = { clickhouse_settings: { no_such_setting: 1 } };
    expect(await failureOf('SELECT 1', more)).toEqual({ code: '115', type: 'UNKNOWN_SETTING' });
    const answer = await rawRequest(url, { query: 'SELECT 1', 'max_threads = 1, readonly': '0' });
    expect(answer.headers['x-clickhouse-exception-code']).toBe('115');
  });

  test('max_execution_time ends a query', async () => {
    const started = Date.now();
    const more = { clickhouse_settings: { max_execution_time: 1 } };
    expect((await failureOf('SELECT count() FROM numbers(1000000000000)', more)).code).toBe('159');
    expect(Date.now() - started).toBeLessThan(10_000);
  });

  test('readonly=1 refuses writes and settings in the text', async () => {
    const more = { clickhouse_settings: { readonly: '1', max_threads: 1 } };
    expect(await firstValue('SELECT 5', more)).toBe(5);
    expect((await failureOf('INSERT INTO kept SELECT 1', more)).code).toBe('164');
    expect((await failureOf('SELECT 1 SETTINGS max_threads = 2', more)).code).toBe('164');
    expect((await failureOf('DROP TABLE kept', more)).code).toBe('164');
  });

  test('a GET changes nothing, also with its own readonly', async () => {
    const query = 'DROP TABLE kept';
    for (const parameters of [{ query }, ...['0', '1', '2'].map((readonly) => ({ query, readonly }))]) {
      const answer = await rawRequest(url, parameters, { method: 'GET' });
      expect(answer.headers['x-clickhouse-exception-code']).toBe('164');
    }
    expect(await firstValue('EXISTS TABLE kept')).toBe(1);
    expect((await rawRequest(url, { query: 'SELECT 1', readonly: '2' }, { method: 'GET' })).body).toBe('1\n');
    expect((await rawRequest(url, { query: 'SELECT 1' }, { method: 'GET' })).body).toBe('1\n');
  });
});

describe('failures', () => {
  test.each([
    ['SELEC 1 FROM', '62', 'SYNTAX_ERROR'],
    ['SELECT * FROM no_such_table', '60', 'UNKNOWN_TABLE'],
    ['SELECT no_such_column FROM system.one', '47', 'UNKNOWN_IDENTIFIER'],
    ['SELECT no_such_function(1)', '46', 'UNKNOWN_FUNCTION'],
    ["SELECT throwIf(1, 'stop')", '395', 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO'],
    ["SELECT toUInt8('x')", '6', 'CANNOT_PARSE_TEXT'],
  ])('%s', async (query, code, type) => {
    expect(await failureOf(query)).toEqual({ code, type });
  });

  test('unknown database', async () => {
    const answer = await rawRequest(url, { database: 'no_such_database', query: 'SELECT 1' });
    expect(answer.headers['x-clickhouse-exception-code']).toBe('81');
    expect(answer.status).toBe(404);
  });

  test('a format that is no name, and an address that is none', async () => {
    const answer = await rawRequest(url, { query: 'SELECT 1', default_format: 'CSV SETTINGS readonly = 0' });
    expect(answer.headers['x-clickhouse-exception-code']).toMatch(/^(73|62)$/);
    await rawRequest(url, { query: 'SELECT 1' }, { path: '//' });
    await rawRequest(url, { query: 'SELECT 1' }, { path: '/%%/\\' });
    expect((await rawRequest(url, { query: 'SELECT 1' })).body).toBe('1\n');
  });

  test('unknown format, twice on one connection', async () => {
    for (const _ of [1, 2]) {
      const answer = await rawRequest(url, { query: 'SELECT 1 FORMAT NoSuchFormat' });
      expect(answer.headers['x-clickhouse-exception-code']).toBe('73');
    }
  });

  test('code and text stand in header and body', async () => {
    const answer = await rawRequest(url, { query: 'SELECT 1 FROM' });
    expect(answer.status).toBe(400);
    expect(answer.headers['x-clickhouse-exception-code']).toBe('62');
    expect(answer.body).toMatch(
      /^Code: 62\. DB::Exception: Syntax error: [\s\S]*\(SYNTAX_ERROR\) \(version [\s\S]*\)\n$/,
    );
    expect(answer.body).not.toMatch(/OUTFILE '|query_id=/);
  });

  test('a failed query leaves nothing for the next one', async () => {
    for (let round = 0; round < 10; round += 1) {
      const broken = "SELECT throwIf(number = 90000, 'stop') FROM numbers(100000) FORMAT CSV";
      expect((await rawRequest(url, { query: broken })).body).toContain('Code: 395');
      expect((await rawRequest(url, { query: `SELECT ${round} FORMAT CSV` })).body).toBe(`${round}\n`);
    }
  });

  test('several statements are refused whole', async () => {
    const answer = await rawRequest(url, {}, { body: 'SELECT 1; DROP TABLE kept' });
    expect(answer.headers['x-clickhouse-exception-code']).toBe('62');
    expect(await firstValue('SELECT count() FROM kept')).toBe(0);
  });

  test('files of the server are out of reach', async () => {
    expect((await failureOf("SELECT 1 INTO OUTFILE '/tmp/stolen' FORMAT CSV")).code).toMatch(/^(358|62)$/);
    expect((await failureOf("INSERT INTO kept FROM INFILE '/etc/passwd' FORMAT CSV")).code).toMatch(/^(78|62)$/);
  });
});

describe('around the result', () => {
  test("the query id is the caller's", async () => {
    const result = await client.query({ query: 'SELECT 1', query_id: 'ours-1' });
    await result.text();
    expect(result.query_id).toBe('ours-1');
    const answer = await rawRequest(url, { query: 'SELECT 1', query_id: 'ours-2' });
    expect(answer.headers['x-clickhouse-query-id']).toBe('ours-2');
    expect((await rawRequest(url, { query: 'SELECT 1' })).headers['x-clickhouse-query-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('one query runs under an id at a time', async () => {
    const query_id = `twice-${process.pid}`;
    const first = client.query({ query: 'SELECT sleep(1)', query_id });
    await new Promise((resolve) => setTimeout(resolve, 400));
    const answer = await rawRequest(url, { query: 'SELECT 1', query_id });
    expect(answer.headers['x-clickhouse-exception-code']).toBe('216');
    await (await first).text();
    expect((await rawRequest(url, { query: 'SELECT 1', query_id })).body).toBe('1\n');
  });

  test('the summary comes with a result that was waited for', async () => {
    const answer = await rawRequest(url, { query: 'SELECT sum(number) FROM numbers(1000)', wait_end_of_query: '1' });
    const summary = JSON.parse(String(answer.headers['x-clickhouse-summary'])) as Record<string, string>;
    expect(summary).toMatchObject({ written_rows: '0' });
    expect(Number(summary.read_rows)).toBeGreaterThan(0);
    expect(Number(summary.elapsed_ns)).toBeGreaterThan(0);
  });

  test('DDL, mutations and introspection work', async () => {
    await client.command({ query: 'CREATE TABLE ddl (a UInt32, b String) ENGINE = ReplacingMergeTree(a) ORDER BY b' });
    await client.command({ query: "INSERT INTO ddl VALUES (1, 'x'), (2, 'x')" });
    await client.command({ query: 'OPTIMIZE TABLE ddl FINAL' });
    await client.command({ query: 'ALTER TABLE ddl ADD COLUMN c UInt8 DEFAULT 9' });
    expect(await rows('SELECT * FROM ddl')).toEqual([{ a: 2, b: 'x', c: 9 }]);
    await client.command({ query: "DELETE FROM ddl WHERE b = 'x'" });
    expect(await firstValue('SELECT count() FROM ddl')).toBe(0);
    expect(
      await firstValue(
        "SELECT count() > 0 AS c FROM system.columns WHERE database = currentDatabase() AND table = 'ddl'",
      ),
    ).toBe(1);
  });
});
