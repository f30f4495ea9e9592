import { describe, expect, test } from 'vitest';
import type { Change } from '../../../../pipelines/changes/record.ts';
import { CompanyNames } from '../../../../pipelines/consumers/company-names.ts';
import { encodeChange } from '../../../support/registers/change-records.ts';
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
      letters: reader.string(),
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
  test('have the folded name, its form, its standing and the columns of filters', () => {
    expect(namesOf(filled(changeOf(1, null, acme)))).toEqual([
      {
        name: 'ACME NANDU',
        ruc: Number(acme.ruc),
        version: 1,
        isDeleted: 0,
        form: 'SAC',
        words: 'ACME NANDU',
        letters: 'ACMENANDU',
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

  test('do not exist for natural persons, whatever changed', () => {
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

  test('replace an old name, which is marked as deleted; an equal folded name replaces itself', () => {
    expect(namesOf(filled(changeOf(2, acme, { ...acme, nombre: 'KOLPA' })))).toMatchObject([
      { name: 'ACME NANDU', version: 2, isDeleted: 1 },
      { name: 'KOLPA', version: 2, isDeleted: 0 },
    ]);
    expect(namesOf(filled(changeOf(2, acme, { ...acme, nombre: 'ACME NANDU S.A.' })))).toMatchObject([
      { name: 'ACME NANDU', form: 'SA', version: 2, isDeleted: 0 },
    ]);
  });

  test('are marked as deleted when a company disappears', () => {
    expect(namesOf(filled(changeOf(3, acme, null)))).toMatchObject([{ name: 'ACME NANDU', version: 3, isDeleted: 1 }]);
  });

  test('are written again after a change of the address alone, since another parser may have read the stored name', () => {
    const live = { name: 'ACME NANDU', version: 3, isDeleted: 0 };
    expect(namesOf(filled(changeOf(3, acme, acme)))).toMatchObject([live]);
    const moved = { ...acme, ubigeo: '040101' };
    expect(namesOf(filled(changeOf(3, acme, moved)))).toMatchObject([{ ...live, ubigeo: '040101' }]);
  });

  test('move to another place in the order with another standing, and the old one is marked as deleted', () => {
    expect(namesOf(filled(changeOf(3, acme, { ...acme, estado: 'BAJA DE OFICIO' })))).toMatchObject([
      { name: 'ACME NANDU', standing: 0, estado: 'ACTIVO', version: 3, isDeleted: 1 },
      { name: 'ACME NANDU', standing: 2, estado: 'BAJA DE OFICIO', version: 3, isDeleted: 0 },
    ]);
  });

  test('are not made for a name without letters; an empty name only marks the old one', () => {
    expect(filled(changeOf(1, null, { ...acme, nombre: '' })).names.rows).toBe(0);
    expect(namesOf(filled(changeOf(2, acme, { ...acme, nombre: '---' })))).toMatchObject([{ isDeleted: 1 }]);
  });

  test('are not made for other registers', () => {
    const rows = filled(changeOf(1, null, acme));
    rows.fill('padron_mensual', messagesOf([changeOf(1, null, acme)]));
    expect(rows.names.rows).toBe(0);
  });
});

describe('words', () => {
  test('are written once in a batch, and again until they are known to be stored', () => {
    const messages = messagesOf([
      changeOf(1, null, acme),
      changeOf(1, null, { ruc: rucOf(2), nombre: 'ACME DISTRIB SA' }),
    ]);
    const rows = new CompanyNames();
    for (const round of [1, 2]) {
      rows.fill('padron_reducido', messages);
      expect(wordsOf(rows), `round ${round}`).toEqual([
        ...['ACME', 'NANDU', 'DISTRIB', 'DISTRIBUIDORA', 'DISTRIBUCIONES', 'DISTRIBUIDORES'],
      ]);
    }
    rows.wordsAreStored();
    rows.fill('padron_reducido', messages);
    expect(rows.words.rows).toBe(0);
    expect(rows.names.rows).toBe(2);
  });
});
