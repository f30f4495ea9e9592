import { describe, expect, test } from 'vitest';
import { type Change, encodeChange } from '../../../../pipelines/changes/record.ts';
import { CompanyNames } from '../../../../pipelines/consumers/company-names.ts';
import { changeOf, rucOf } from '../../../support/registers/companies.ts';
import { RowBinaryReader } from './row-binary-reader.ts';

const acme = { ruc: rucOf(1), nombre: 'ACME ÑANDÚ S.A.C.' };
const messagesOf = (changes: readonly Change[]) =>
  changes.map((change, index) => ({ offset: String(index), value: encodeChange(change, 1, 'padron_reducido') }));

function namesOf(rows: CompanyNames) {
  const reader = new RowBinaryReader(Buffer.from(rows.names.written()));
  const names: Record<string, string | number>[] = [];
  while (!reader.atEnd()) {
    names.push({
      name: reader.string(),
      ruc: reader.uint64(),
      version: reader.uint64(),
      isDeleted: reader.uint8(),
      form: reader.string(),
      words: reader.string(),
      enie: reader.string(),
      standing: reader.uint8(),
      length: reader.uint8(),
      estado: reader.string(),
      condicion: reader.string(),
      ubigeo: reader.string(),
    });
  }
  expect(names).toHaveLength(rows.names.rows);
  return names;
}

function wordsOf(rows: CompanyNames): string[] {
  const reader = new RowBinaryReader(Buffer.from(rows.words.written()));
  const words: string[] = [];
  while (!reader.atEnd()) words.push(reader.string());
  return words;
}

function filled(...changes: Change[]): CompanyNames {
  const rows = new CompanyNames();
  rows.fill('padron_reducido', messagesOf(changes));
  return rows;
}

describe('rows of names', () => {
  test('hold the folded name, its form, its standing and what filters ask for', () => {
    expect(namesOf(filled(changeOf(1, null, acme)))).toEqual([
      {
        name: 'ACME NANDU',
        ruc: Number(acme.ruc),
        version: 1,
        isDeleted: 0,
        form: 'SAC',
        words: 'ACME NANDU',
        enie: 'ÑANDU',
        standing: 0,
        length: 10,
        estado: 'ACTIVO',
        condicion: 'HABIDO',
        ubigeo: '150101',
      },
    ]);
  });

  test.each([
    ['ACTIVO', 'NO HABIDO', 1],
    ['BAJA DE OFICIO', 'HABIDO', 2],
  ])('%s and %s stand at %i', (estado, condicion, standing) => {
    expect(namesOf(filled(changeOf(1, null, { ...acme, estado, condicion })))).toMatchObject([{ standing }]);
  });

  test('of natural persons there are none, of any change', () => {
    for (const prefix of ['10', '15', '16', '17']) {
      const person = { ruc: rucOf(1, prefix), nombre: 'PEREZ QUISPE MARIA' };
      const rows = filled(
        changeOf(1, null, person),
        changeOf(2, person, { ...person, nombre: 'X' }),
        changeOf(3, person, null),
      );
      expect([rows.names.rows, rows.words.rows]).toEqual([0, 0]);
    }
  });

  test('a new name takes the place of the old one, which is marked; an equal folded name replaces itself', () => {
    expect(namesOf(filled(changeOf(2, acme, { ...acme, nombre: 'KOLPA' })))).toMatchObject([
      { name: 'ACME NANDU', version: 2, isDeleted: 1 },
      { name: 'KOLPA', version: 2, isDeleted: 0 },
    ]);
    expect(namesOf(filled(changeOf(2, acme, { ...acme, nombre: 'ACME NANDU S.A.' })))).toMatchObject([
      { name: 'ACME NANDU', form: 'SA', version: 2, isDeleted: 0 },
    ]);
  });

  test('a company that left is marked', () => {
    expect(namesOf(filled(changeOf(3, acme, null)))).toMatchObject([{ name: 'ACME NANDU', version: 3, isDeleted: 1 }]);
  });

  test('a change of the address alone says the name again: another parser may have read the stored one', () => {
    const live = { name: 'ACME NANDU', version: 3, isDeleted: 0 };
    expect(namesOf(filled(changeOf(3, acme, acme)))).toMatchObject([live]);
    const moved = { ...acme, ubigeo: '040101' };
    expect(namesOf(filled(changeOf(3, acme, moved)))).toMatchObject([{ ...live, ubigeo: '040101' }]);
  });

  test('another standing is another place in the order: the old one is marked', () => {
    expect(namesOf(filled(changeOf(3, acme, { ...acme, estado: 'BAJA DE OFICIO' })))).toMatchObject([
      { name: 'ACME NANDU', standing: 0, estado: 'ACTIVO', version: 3, isDeleted: 1 },
      { name: 'ACME NANDU', standing: 2, estado: 'BAJA DE OFICIO', version: 3, isDeleted: 0 },
    ]);
  });

  test('a name without letters makes no row, and an empty one its mark alone', () => {
    expect(filled(changeOf(1, null, { ...acme, nombre: '' })).names.rows).toBe(0);
    expect(namesOf(filled(changeOf(2, acme, { ...acme, nombre: '---' })))).toMatchObject([{ isDeleted: 1 }]);
  });

  test('other registers make none', () => {
    const rows = filled(changeOf(1, null, acme));
    rows.fill('padron_mensual', messagesOf([changeOf(1, null, acme)]));
    expect(rows.names.rows).toBe(0);
  });
});

describe('words', () => {
  test('are written once in a batch, and again until they are known to be stored', () => {
    const messages = messagesOf([
      changeOf(1, null, acme),
      changeOf(1, null, { ruc: rucOf(2), nombre: 'ACME DIST SA' }),
    ]);
    const rows = new CompanyNames();
    for (const round of [1, 2]) {
      rows.fill('padron_reducido', messages);
      expect(wordsOf(rows), `round ${round}`).toEqual([
        ...['ACME', 'NANDU', 'DIST', 'DISTRIBUIDORA', 'DISTRIBUCIONES', 'DISTRIBUIDORES'],
      ]);
    }
    rows.wordsAreStored();
    rows.fill('padron_reducido', messages);
    expect(rows.words.rows).toBe(0);
    expect(rows.names.rows).toBe(2);
  });
});
