import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, describe, expect, test } from 'vitest';
import { exportedChanges, writeNdjson, writeParquet } from '../../../../pipelines/replay/export.ts';
import { writeOutputFile } from '../../../../pipelines/replay/output-file.ts';
import type { SelectedEdition } from '../../../../pipelines/replay/plan.ts';
import { padronReducido } from '../../../../schemas/registers.ts';
import { checkDigit } from '../../../../schemas/ruc.ts';
import { changesBetween, type State, writeChanges } from '../../../support/registers/change-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'padron-export-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const signal = new AbortController().signal;

const inventedRuc = (number: number) => `${2_050_000_000 + number}${checkDigit(String(2_050_000_000 + number))}`;

function stateOf(day: number): State {
  const state: State = new Map();
  for (let number = 0; number < 300; number += 1) {
    if (number % 100 === day) continue;
    const cells: string[] = padronReducido.columns.map(() => '-');
    cells[0] = `ÑANDÚ "${number}"`;
    cells[1] = day === 2 && number % 10 === 5 ? 'BAJA DE OFICIO' : 'ACTIVO';
    state.set(inventedRuc(number), cells);
  }
  return state;
}

const editions = [1, 2].map((number): SelectedEdition => {
  const before: State = number === 1 ? new Map() : stateOf(1);
  const changes = changesBetween('padron_reducido', before, stateOf(number), number);
  const { path } = writeChanges(folder, 'padron_reducido', number, changes);
  const fechaDato = `2026-11-2${number}`;
  return { register: 'padron_reducido', edition: number, fechaDato, path, changes: changes.length, notified: true };
});
const total = editions[0]!.changes + editions[1]!.changes;

const parquetFile = (path: string, batches: ReturnType<typeof exportedChanges>) =>
  writeOutputFile(
    path,
    (out) => writeParquet('padron_reducido', batches, out, () => {}, signal),
    () => {},
  );

describe('an export of history', () => {
  test('as lines has every change with before, after, date and times', async () => {
    let text = '';
    const out = new Writable({
      write: (chunk, _encoding, done) => {
        text += String(chunk);
        done();
      },
    });
    const reported: number[] = [];
    expect(await writeNdjson(exportedChanges(editions), out, (rows) => reported.push(rows), signal)).toBe(total);
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(total);
    expect(reported.at(-1)).toBe(total);
    expect(lines.find(({ op }) => op === 'u')).toEqual({
      edition: 2,
      op: 'u',
      ruc: inventedRuc(5),
      before: expect.objectContaining({ nombre: 'ÑANDÚ "5"', estado: 'ACTIVO' }),
      after: expect.objectContaining({ nombre: 'ÑANDÚ "5"', estado: 'BAJA DE OFICIO' }),
      fecha_dato: '2026-11-22',
      detected_at: '2026-11-22T00:00:00.000Z',
      corrects: null,
    });
  });

  test('as a Parquet file has the typed columns that the DuckDB example queries', async () => {
    const path = join(folder, 'changes.parquet');
    expect(await parquetFile(path, exportedChanges(editions))).toBe(total);
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const rows = async (query: string) => (await connection.runAndReadAll(query)).getRowObjectsJson();
    const types = await rows(
      `DESCRIBE SELECT edition, op, ruc, fecha_dato, detected_at, corrects, after_lote FROM '${path}'`,
    );
    expect(types.map(({ column_type }) => column_type)).toEqual([
      'BIGINT',
      'VARCHAR',
      'VARCHAR',
      'DATE',
      'TIMESTAMP WITH TIME ZONE',
      'BIGINT',
      'VARCHAR',
    ]);
    const example = readFileSync('deploy/examples/changes.sql', 'utf8').replaceAll("'changes.parquet'", `'${path}'`);
    const [bajas, state] = example.split(';');
    expect(await rows(bajas!)).toEqual([{ fecha_dato: '2026-11-22', bajas: '30' }]);
    const expected = [...stateOf(2)].sort(([one], [other]) => (one < other ? -1 : 1));
    const found = await rows(state!);
    expect(found.map(({ ruc, nombre, estado }) => [ruc, nombre, estado])).toEqual(
      expected.map(([ruc, [nombre, estado]]) => [ruc, nombre, estado]),
    );
  });

  test('as a Parquet file has times that mean the same in every zone', async () => {
    const path = join(folder, 'times.parquet');
    await parquetFile(path, exportedChanges(editions));
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const rows = async (query: string) => (await connection.runAndReadAll(query)).getRowObjectsJson();
    for (const zone of ['America/Lima', 'UTC']) {
      await connection.run(`SET TimeZone = '${zone}'`);
      const at = "TIMESTAMPTZ '2026-11-22 00:00:00+00'";
      const second = await rows(`SELECT count(*) AS changes FROM '${path}' WHERE detected_at = ${at}`);
      expect(second, zone).toEqual([{ changes: String(editions[1]!.changes) }]);
    }
    const [element] = await rows(
      `SELECT converted_type, logical_type FROM parquet_schema('${path}') WHERE name = 'detected_at'`,
    );
    expect(element).toEqual({
      converted_type: 'TIMESTAMP_MILLIS',
      logical_type: expect.stringMatching(/isAdjustedToUTC=(1|true)/),
    });
  });

  test('that cannot be read leaves no file that looks complete', async () => {
    const path = join(folder, 'broken.parquet');
    async function* broken() {
      yield* exportedChanges(editions.slice(0, 1));
      throw new Error('the disk went away');
    }
    await expect(parquetFile(path, broken())).rejects.toThrow('went away');
    expect([existsSync(path), existsSync(`${path}.partial`)]).toEqual([false, false]);
  });
});
