import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readUbigeoCatalogue, ubigeoListUrl } from '../../../schemas/ubigeo.ts';

const catalogue = readUbigeoCatalogue(readFileSync(ubigeoListUrl, 'utf8'));

function namesOf(code: string): string | null {
  const names = catalogue.get(code);
  return names === undefined ? null : `${names.departamento} / ${names.provincia} / ${names.distrito}`;
}

test('25 departments, 196 provinces, 1,891 districts', () => {
  const places = [...catalogue.values()];
  expect(new Set(places.map(({ departamento }) => departamento)).size).toBe(25);
  expect(new Set(places.map(({ departamento, provincia }) => `${departamento} ${provincia}`)).size).toBe(196);
  // Besides them there are one district of another year and two former codes.
  expect(catalogue.size).toBe(1_891 + 1 + 2);
});

test.each([
  // The institute's numbers differ from RENIEC's: Lima is 15, Lambayeque 14, and Callao a department.
  ['150101', 'LIMA / LIMA / LIMA'],
  ['140101', 'LAMBAYEQUE / CHICLAYO / CHICLAYO'],
  ['070101', 'CALLAO / CALLAO / CALLAO'],
  ['240101', 'TUMBES / TUMBES / TUMBES'],
  // Tayacaja has the institute's number; the shifted code of another list is unknown.
  ['090709', 'HUANCAVELICA / TAYACAJA / HUARIBAMBA'],
  ['090714', 'HUANCAVELICA / TAYACAJA / SALCABAMBA'],
  ['090708', null],
  ['090712', null],
  // These districts are new and missing from older lists.
  ['030612', 'APURÍMAC / CHINCHEROS / AHUAYRO'],
  ['130112', 'LA LIBERTAD / TRUJILLO / ALTO TRUJILLO'],
  ['180107', 'MOQUEGUA / MARISCAL NIETO / SAN ANTONIO'],
  ['221006', 'SAN MARTÍN / TOCACHE / SANTA LUCIA'],
  ['250306', 'UCAYALI / PADRE ABAD / HUIPOCA'],
  ['250307', 'UCAYALI / PADRE ABAD / BOQUERÓN'],
  ['131103', 'LA LIBERTAD / GRAN CHIMÚ / MARMOT'],
  // The source has a wrong province for this district.
  ['061306', 'CAJAMARCA / SANTA CRUZ / NINABAMBA'],
  // A code has the name of the year that has it, not that of the district from which it was cut.
  ['150144', 'LIMA / LIMA / SANTA MARIA DE HUACHIPA'],
  ['150118', 'LIMA / LIMA / LURIGANCHO'],
  // Former codes of a district that only has another number now.
  ['160109', 'LORETO / PUTUMAYO / PUTUMAYO'],
  ['160114', 'LORETO / PUTUMAYO / TENIENTE MANUEL CLAVERO'],
  // Upper case keeps accents and Ñ.
  ['090710', 'HUANCAVELICA / TAYACAJA / ÑAHUIMPUQUIO'],
  ['020101', 'ÁNCASH / HUARAZ / HUARAZ'],
  // A code that lost its leading zero, or is no district's, is unknown.
  ['010202', 'AMAZONAS / BAGUA / ARAMANGO'],
  ['10202', null],
  ['30612', null],
  ['1501', null],
  ['999999', null],
  ['', null],
])('%s', (code, names) => expect(namesOf(code)).toBe(names));

test.each([
  ['a line without a name', 'codigo;nombre\n15;\n'],
  ['a code of another length', 'codigo;nombre\n151;Lima\n'],
  ['a district without its province', 'codigo;nombre\n15;Lima\n150101;Lima\n'],
  // The list must have today's districts of the old codes.
  ['a list without the districts of today', 'codigo;nombre\n15;Lima\n1501;Lima\n150101;Lima\n'],
])('%s is refused', (_, text) => expect(() => readUbigeoCatalogue(text)).toThrow('ubigeo list'));
