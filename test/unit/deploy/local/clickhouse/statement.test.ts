import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readStatement, type Statement, tokens } from '../../../../../deploy/local/clickhouse/statement.ts';

const insertData = (sql: string) => {
  const statement = readStatement(sql);
  if (statement.kind !== 'insert-data') throw new Error(`${statement.kind}: ${sql}`);
  const { head, settings, format, dataStart } = statement;
  return { head, settings, format, data: sql.slice(dataStart) };
};

describe('INSERT with data', () => {
  test('format and data', () => {
    expect(insertData('INSERT INTO t (a, b) FORMAT CSV\n1,2\n;\n\nDROP TABLE t')).toEqual({
      head: 'INSERT INTO t (a, b)',
      settings: '',
      format: 'CSV',
      data: '1,2\n;\n\nDROP TABLE t',
    });
    expect(insertData('insert into `a b`.t format JSONEachRow {"x":1}').data).toBe('{"x":1}');
    expect(insertData('INSERT INTO t FORMAT RowBinary').data).toBe('');
    expect(insertData('INSERT INTO t FORMAT RowBinary\n\n\n').data).toBe('\n\n');
    expect(insertData('INSERT INTO t FORMAT CSV;\n1').data).toBe('1');
  });

  test('settings stand between', () => {
    expect(insertData('INSERT INTO t SETTINGS a = 1, b = 2 FORMAT CSV')).toMatchObject({
      head: 'INSERT INTO t',
      settings: 'SETTINGS a = 1, b = 2',
      format: 'CSV',
    });
  });

  test('VALUES', () => {
    expect(insertData("INSERT INTO db.t (a) VALUES (1), (';')")).toMatchObject({
      head: 'INSERT INTO db.t (a)',
      format: 'Values',
      data: " (1), (';')",
    });
    expect(insertData("INSERT INTO TABLE FUNCTION null('a UInt8') VALUES (1)").head).toContain('null(');
  });

  test('INSERT … SELECT has none', () => {
    expect(readStatement('INSERT INTO t SELECT 1').kind).toBe('insert-select');
    expect(readStatement('INSERT INTO t WITH 1 AS x SELECT x').kind).toBe('insert-select');
    expect(readStatement("INSERT INTO t SELECT a FROM format(CSV, '1')").kind).toBe('insert-select');
    expect(readStatement('WITH 1 AS x INSERT INTO t SELECT x').kind).toBe('insert-select');
  });
});

describe('SELECT', () => {
  test.each([
    ['SELECT 1', undefined, 'SELECT 1', ''],
    ['SELECT 1 FORMAT CSV', 'CSV', 'SELECT 1 ', 'FORMAT CSV'],
    ['SELECT 1 FORMAT CSV SETTINGS a = 1;', 'CSV', 'SELECT 1 ', 'FORMAT CSV SETTINGS a = 1'],
    ['SELECT 1 -- FORMAT CSV', undefined, 'SELECT 1', ''],
    ["SELECT 'FORMAT CSV'", undefined, "SELECT 'FORMAT CSV'", ''],
    ['WITH 1 AS a SELECT a AS format', undefined, 'WITH 1 AS a SELECT a AS format', ''],
    ['SELECT format FROM t', undefined, 'SELECT format FROM t', ''],
    ['(SELECT 1 FORMAT x)', undefined, '(SELECT 1 FORMAT x)', ''],
  ])('%s', (sql, format, body, tail) => {
    expect(readStatement(sql)).toEqual({ kind: 'select', format, body, tail });
  });
});

describe('everything else', () => {
  test.each<[string, Statement['kind'], boolean]>([
    ['CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a', 'command', false],
    ['CREATE TEMPORARY TABLE t (a UInt8)', 'command', true],
    ['SET a = 1', 'command', true],
    ['USE db', 'command', true],
    ['SHOW TABLES', 'command', false],
    ['KILL MUTATION WHERE 1', 'command', false],
  ])('%s', (sql, kind, changes) => {
    const statement = readStatement(sql);
    expect(statement.kind).toBe(kind);
    if (statement.kind === 'command') expect(statement.changesConnection).toBe(changes);
  });
});

describe('refused', () => {
  test.each([
    ['', 62],
    [' -- nothing\n/* at all */ ;', 62],
    ['SELECT 1; SELECT 2', 62],
    ['SELECT 1;;', undefined],
    ["SELECT ';' ; /* ; */ DROP TABLE t", 62],
    ['SET a = 1; SELECT 1', 62],
    ["KILL QUERY WHERE query_id = 'a' SYNC", 48],
    ["SELECT 1 INTO OUTFILE 'x'", 358],
    ["SELECT 1 INTO OUTFILE 'x' TRUNCATE FORMAT CSV", 358],
    ["INSERT INTO t FROM INFILE '/etc/passwd' FORMAT CSV", 78],
    ["INSERT INTO t FROM INFILE '/etc/passwd' COMPRESSION 'none' SELECT * FROM input('a String')", 78],
  ])('%s', (sql, code) => {
    if (code === undefined) expect(() => readStatement(sql)).not.toThrow();
    else expect(() => readStatement(sql)).toThrow(expect.objectContaining({ code }));
  });
});

describe('tokens', () => {
  test('quotes, comments and heredocs are whole', () => {
    const sql = "a 'b''c\\'d' \"e;\" `f\\`` /* g /* h */ ; */ $t$ ; ' $t$ -- i\n[1, (2)] ‘;’ ñandú;";
    expect([...tokens(sql)].map((token) => token.text)).toEqual([
      'a',
      "'b''c\\'d'",
      '"e;"',
      '`f\\``',
      "$t$ ; ' $t$",
      '[',
      '1',
      ',',
      '(',
      '2',
      ')',
      ']',
      '‘;’',
      'ñandú',
      ';',
    ]);
  });

  test('a quoted value is one token, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (value) => {
        const literal = `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
        const texts = [...tokens(`SELECT ${literal} ;`)].map((token) => token.text);
        expect(texts).toEqual(['SELECT', literal, ';']);
      }),
    );
  });

  test('whatever the text, the tokens go forward and cover no character twice', () => {
    const piece = fc.constantFrom(
      "'",
      '"',
      '`',
      '\\',
      ';',
      '--',
      '/*',
      '*/',
      '$a$',
      '$',
      '\n',
      ' ',
      'x',
      '(',
      ')',
      '‘',
      '’',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        let end = 0;
        for (const token of tokens(pieces.join(''))) {
          expect(token.start).toBeGreaterThanOrEqual(end);
          expect(token.end).toBeGreaterThan(token.start);
          end = token.end;
        }
      }),
    );
  });
});
