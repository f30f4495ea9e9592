import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { servingTables } from '../../../../pipelines/consumers/materialize.ts';
import type { CompareInput } from '../../../../pipelines/diff/types.ts';
import { header } from '../../../../pipelines/registers/padron-reducido.ts';
import { planVerification } from '../../../../pipelines/replay/plan.ts';
import { rebuild } from '../../../../pipelines/replay/rebuild.ts';
import type { DifferenceKind, VerifyReport } from '../../../../pipelines/replay/types.ts';
import { verify } from '../../../../pipelines/replay/verify.ts';
import { padronReducido } from '../../../../schemas/registers.ts';
import { runPadron } from '../../../support/process/command.ts';
import { rucOf } from '../../../support/registers/companies.ts';
import { writeLines } from '../../../support/registers/lines.ts';
import { ReplayHarness } from '../../../support/registers/replay-harness.ts';

// These tests check the index of names after every kind of change to a name, and then after every kind of damage. They
// build on each other and run in this order.
const signal = new AbortController().signal;
const table = servingTables.names;
const person = rucOf(1, '10');
const company = (number: number) => rucOf(number);
const names = new Map<string, string>();
const estados = new Map<string, string>();
const doors = new Map<string, string>();
let harness: ReplayHarness;
let day = 0;

beforeAll(async () => {
  harness = await ReplayHarness.start(inject('endpoints'), ['padron_reducido']);
  for (let number = 1; number <= 400; number += 1) names.set(company(number), `EMPRESA ${number} "ÑANDÚ" S.A.C.`);
  names.set(person, 'PERSONA PLANTADA');
  names.set(company(401), '---');
  names.set(company(402), 'INV. Y SERV. DEL SUR E.I.R.L.');
});
afterAll(() => harness?.close());

/** Rows with the names as `readName` reads them. */
async function written(name: string, readName = (nombre: string) => nombre): Promise<string> {
  const path = join(harness.stream.folder, name);
  const lines = [...names].map(([ruc, nombre]) => {
    const estado = estados.get(ruc) ?? 'ACTIVO';
    return `${ruc}|${readName(nombre)}|${estado}|HABIDO|150101|-|-|-|-|${doors.get(ruc) ?? '-'}|-|-|-|-|-|`;
  });
  await writeLines(path, [header, ...lines], '\n');
  return path;
}

async function publish(previous: CompareInput['previous'] = null): Promise<void> {
  day += 1;
  const path = await written(`day-${day}.zip`);
  await harness.publish('padron_reducido', path, `2026-11-${String(day).padStart(2, '0')}`, previous);
}

/** Verifies with small ranges, so that there are many. */
async function verified(): Promise<VerifyReport> {
  const plan = await planVerification(harness.planDependencies(), 'padron_reducido');
  if (plan.kind !== 'ready') throw new Error(`not verified: ${plan.kind}`);
  return await verify({ ...plan.input, publication: null }, () => {}, signal, 30);
}

async function expectEqual(companies: number): Promise<void> {
  const { equal, names: found, listed } = await verified();
  expect({ equal, found, listed }).toEqual({
    equal: true,
    found: { rows: companies, missing: 0, extra: 0, differs: 0 },
    listed: [],
  });
}

const run = (query: string) =>
  harness.stream.clickhouse.command({ query, clickhouse_settings: { mutations_sync: '2', async_insert: 0 } });

describe('the index is equal', () => {
  test('after a first load, where a name without letters and a person have no row', async () => {
    await publish();
    await expectEqual(401);
  });

  test('after renames, one of which folds to the same words, a change of status and one of the address alone', async () => {
    names.set(company(10), 'OTRO NOMBRE S.A.');
    names.set(company(11), 'EMPRESA 11 "ÑANDÚ" S.R.L.');
    names.set(company(12), 'EMPRESA 12 “Ñandu” SAC');
    names.set(company(13), '...');
    estados.set(company(14), 'BAJA DE OFICIO');
    await publish();
    await expectEqual(400);
  });

  test('after a deletion, an appearance and a return', async () => {
    names.delete(company(20));
    names.delete(company(21));
    names.set(company(500), 'RECIÉN LLEGADA S.A.A.');
    await publish();
    await expectEqual(399);
    names.set(company(20), 'VUELVE CON OTRO NOMBRE S.A.');
    await publish();
    await expectEqual(400);
  });

  test('after a revert of renames, deletions and appearances', async () => {
    names.set(company(30), 'UN NOMBRE EQUIVOCADO S.A.');
    names.delete(company(31));
    names.set(company(501), 'NO DEBIÓ LLEGAR S.A.');
    await publish();
    await expectEqual(400);
    await harness.revert('padron_reducido', 5);
    await expectEqual(400);
  });
});

describe('damage is found and a rebuild repairs it', () => {
  const copy = (columns: string) =>
    `INSERT INTO ${table} (name, ruc, version, is_deleted, form, words, enie, standing, length, estado, condicion, ubigeo)
     SELECT ${columns} FROM ${table} FINAL`;
  const damages: [what: string, statement: string, kind: DifferenceKind, ruc: string][] = [
    ['a row that is gone', `ALTER TABLE ${table} DELETE WHERE ruc = ${company(100)}`, 'missing', company(100)],
    [
      'another status',
      `ALTER TABLE ${table} UPDATE estado = 'BAJA' WHERE ruc = ${company(101)}`,
      'differs',
      company(101),
    ],
    [
      'another legal form',
      `ALTER TABLE ${table} UPDATE form = 'SA' WHERE ruc = ${company(102)}`,
      'differs',
      company(102),
    ],
    [
      'a name that nobody has any longer, live again',
      `ALTER TABLE ${table} UPDATE is_deleted = 0 WHERE ruc = ${company(10)} AND is_deleted = 1`,
      'differs',
      company(10),
    ],
    [
      'the name of a company that disappeared',
      `ALTER TABLE ${table} UPDATE is_deleted = 0 WHERE ruc = ${company(21)}`,
      'extra',
      company(21),
    ],
    [
      'the name of a company that never was',
      copy(`name, ${company(900)}, version, 0, form, words, enie, standing, length, estado, condicion, ubigeo`).concat(
        ` WHERE ruc = ${company(103)}`,
      ),
      'extra',
      company(900),
    ],
    [
      'two rows of one version that say different things',
      copy(`name, ruc, version, 0, form, words, enie, standing, length, estado, 'NO HABIDO', ubigeo`).concat(
        ` WHERE ruc = ${company(104)}`,
      ),
      'differs',
      company(104),
    ],
    [
      'a company that still stands where it did before its status changed',
      copy(`name, ruc, version, 0, form, words, enie, 2, length, 'BAJA DE OFICIO', condicion, ubigeo`).concat(
        ` WHERE ruc = ${company(105)}`,
      ),
      'differs',
      company(105),
    ],
    ['a word that the vocabulary lost', `ALTER TABLE company_word DELETE WHERE word = 'SERV'`, 'differs', company(402)],
    [
      'the rows of two companies, exchanged',
      `ALTER TABLE ${table} UPDATE estado = if(ruc = ${company(14)}, 'ACTIVO', 'BAJA DE OFICIO')
       WHERE ruc IN (${company(14)}, ${company(15)}) AND is_deleted = 0`,
      'differs',
      company(14),
    ],
  ];

  test('each kind, with its company', async () => {
    for (const [, statement] of damages) await run(statement);
    const report = await verified();
    expect(report.equal).toBe(false);
    expect(report.state).toMatchObject({ missing: 0, extra: 0, differs: 0 });
    const expected = [...damages.map(([, , kind, ruc]) => `${kind} ${ruc}`), `differs ${company(15)}`];
    expect(report.listed.map(({ where, kind, id }) => `${where} ${kind} ${id}`).sort()).toEqual(
      expected.map((each) => `names ${each}`).sort(),
    );
    expect(report.differences).toBe(expected.length);
    await rebuild(
      { ...harness.planDependencies(), clickhouse: harness.stream.clickhouse },
      ['padron_reducido'],
      () => {},
      signal,
    );
    await expectEqual(400);
  });

  test('an index that is gone completely: every company is missing, and as many are listed as requested', async () => {
    await run(`TRUNCATE TABLE ${table}`);
    const report = await verified();
    expect(report.names).toEqual({ rows: 400, missing: 400, extra: 0, differs: 0 });
    expect(report.listed).toHaveLength(100);
    const { environment } = harness.stream;
    const output = await runPadron(['verify', '--register', 'padron_reducido'], {
      ...environment,
      WORK_DIR: harness.workDir,
    });
    expect(output.code).toBe(1);
    expect(output.stdout).toContain('names: 400 missing, 0 that should not be there, 0 with another row');
    expect(output.stdout).toContain(`names missing ${company(1)}`);
    expect(output.stdout).not.toContain(person);
  });
});

describe('after a re-baseline by a parser that reads names differently', () => {
  const rebuilt = () =>
    rebuild(
      { ...harness.planDependencies(), clickhouse: harness.stream.clickhouse },
      ['padron_reducido'],
      () => {},
      signal,
    );

  beforeAll(async () => {
    await rebuilt();
  });

  test('each company has the name that today’s parser reads, whatever else changed, and old rows are ignored', async () => {
    const today = (nombre: string) => nombre.replaceAll('EMPRESA', 'COMPAÑÍA');
    const knownColumns = padronReducido.columns.map(({ name }) => name);
    const publicationPath = await written('as-today.zip', today);
    for (const [ruc, nombre] of names) names.set(ruc, today(nombre));
    doors.set(company(60), '12');
    estados.set(company(61), 'BAJA DE OFICIO');
    names.set(company(62), 'TODO NUEVO S.A.');
    names.delete(company(63));
    await publish({ publicationPath, overlayPath: null, knownColumns });
    await expectEqual(399);
    const query = `SELECT ruc, toUInt32(version) AS version, name FROM ${table} WHERE name LIKE 'EMPRESA%' AND is_deleted = 0`;
    const oldRows = async () => {
      const found = await harness.stream.clickhouse.query({ query, format: 'JSONEachRow' });
      return await found.json();
    };
    expect((await oldRows()).length).toBeGreaterThan(0);
    await rebuilt();
    expect(await oldRows()).toEqual([]);
    await expectEqual(399);
  });

  test('later editions are correct too', async () => {
    names.set(company(63), 'EMPRESA 63 S.A.');
    doors.set(company(64), '12');
    await publish();
    await expectEqual(400);
  });
});
