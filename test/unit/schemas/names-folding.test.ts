import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expansionsOf, foldName, searchedWords, significantCharacters } from '../../../schemas/names.ts';

const folded = (name: string) => {
  const { base, form } = foldName(name);
  return form === '' ? base : `${base} | ${form}`;
};

describe('a folded name', () => {
  test.each([
    ['INVERSIONES ÑANDU S.A.C.', 'INVERSIONES NANDU | SAC'],
    ['Inversiones ñandú s a c', 'INVERSIONES NANDU | SAC'],
    ['GRUPO 3A E.I.R.L.', 'GRUPO 3A | EIRL'],
    ['grupo 3 a eirl', 'GRUPO 3A | EIRL'],
    ['ALQUILER 4 X 4 S.R.LTDA.', 'ALQUILER 4X4 | SRL'],
    ['ITAÚ  PERÚ', 'ITAU PERU'],
    ["D'ONOFRIO", 'DONOFRIO'],
    ['BOTICA ´SALUD´', 'BOTICA SALUD'],
    ['"EL NIDO" S.A.', 'EL NIDO | SA'],
    ['SAN.MARTIN', 'SAN MARTIN'],
    ['R.P.S. SAC', 'RPS | SAC'],
    ['A Y B', 'A B'],
    ['PEREZ & CÍA. S.A.', 'PEREZ COMPANIA | SA'],
    ['PEREZ Y COMPAÑIA SA', 'PEREZ COMPANIA | SA'],
    ['PEREZ HNOS', 'PEREZ HERMANOS'],
    ['STA ROSA-NORTE/SUR', 'SANTA ROSA NORTE SUR'],
    ['LOTE 3 E HIJOS', 'LOTE 3 HIJOS'],
    // Some systems send decomposed letters.
    ['N\u0303ANDU\u0301', 'NANDU'],
    ['', ''],
    ['«¿?»', ''],
  ])('%s is %s', (name, expected) => {
    expect(folded(name)).toBe(expected);
  });

  test('knows which words were written with Ñ', () => {
    expect(foldName('PEÑA Y ÑAUPA S.A.C.').enie).toBe('PEÑA ÑAUPA');
    expect(foldName('PENA NAUPA COMPAÑIA').enie).toBe('');
  });

  test('is the same again when it is folded', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."AÑ' .&-YE3XSLRCáñ´") }), (name) => {
        const { base } = foldName(name);
        expect(base).toMatch(/^(?:[A-Z0-9]+(?: [A-Z0-9]+)*)?$/);
      }),
    );
  });
});

describe('legal forms', () => {
  test.each([
    // The longest form wins: SA does not match in SAA, nor SAC in SACS.
    ['ACME S.A.A.', 'SAA'],
    ['ACME S.A.C.S.', 'SACS'],
    ['ACME S. A. C.', 'SAC'],
    ['ACME SA C', 'SAC'],
    ['ACME S.R.L.', 'SRL'],
    ['ACME SCRLTDA', 'SRL'],
    ['ACME S.C.R.LTDA.', 'SRL'],
    ['ACME E.I.R.LTDA.', 'EIRL'],
    ['ACME SOCIEDAD ANONIMA CERRADA', 'SAC'],
    ['ACME SOCIEDAD ANÓNIMA', 'SA'],
    ['ACME SOCIEDAD COMERCIAL DE RESPONSABILIDAD LIMITADA', 'SRL'],
    ['ACME EMPRESA INDIVIDUAL DE RESPONSABILIDAD LIMITADA', 'EIRL'],
    ['ACME S. CIVIL DE R.L.', 'SCIVIL'],
    ['ACME SAC EN LIQUIDACION', 'SAC EN LIQUIDACION'],
    ['ACME SUCURSAL DEL PERU', 'SUCURSAL'],
  ])('%s has %s', (name, form) => {
    expect(foldName(name)).toMatchObject({ base: 'ACME', form });
  });

  test.each([['CASA'], ['MESA S'], ['SAC'], ['PROSAC'], ['EMPRESA INDUSTRIAL']])('%s has none', (name) => {
    expect(foldName(name)).toMatchObject({ base: name, form: '' });
  });

  test('a form that the register cut at 100 characters is recognised; the same beginning in a shorter name is a word', () => {
    const cut = `${'X'.repeat(78)} SOCIEDAD ANONIMA CERR`;
    expect(cut).toHaveLength(100);
    expect(foldName(cut)).toMatchObject({ base: 'X'.repeat(78), form: 'SAC' });
    // When the cut is after a word, the register drops the space that follows.
    expect(foldName(`${'X'.repeat(75)} EMPRESA INDIVIDUAL DE R`.slice(0, 99)).form).toBe('EIRL');
    expect(foldName('ACME SOCIEDAD ANONIMA CERR')).toMatchObject({ base: 'ACME SOCIEDAD ANONIMA CERR', form: '' });
    expect(foldName(`${'X'.repeat(85)} EMPRESA INDUST`).form).toBe('');
  });
});

test('abbreviations are expanded on both sides, their words kept', () => {
  expect(searchedWords('DIST KOLPA')).toBe('DIST KOLPA DISTRIBUIDORA DISTRIBUCIONES DISTRIBUIDORES');
  expect(searchedWords('KOLPA')).toBe('KOLPA');
  expect(expansionsOf('INV')).toContain('INVERSIONES');
  expect(expansionsOf('constructor')).toEqual([]);
});

test('significant characters are letters and digits', () => {
  expect(significantCharacters(' á-ñ. 3 ')).toBe(3);
  expect(significantCharacters('¿?¡!·')).toBe(0);
});
