import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expansionsOf } from '../../../../schemas/names/abbreviations.ts';
import { foldName, significantCharacters } from '../../../../schemas/names/fold.ts';
import { lettersOf, searchedWords } from '../../../../schemas/names/spans.ts';
import { makeLuck } from '../../../bench/search-names.ts';
import { spelledName } from '../../../support/registers/name-spellings.ts';

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
    ['ACME e i r l', 'EIRL'],
    ['ACME E. I. R. L.', 'EIRL'],
    ['ACME SOC. COM. DE RESP. LTDA.', 'SRL'],
    ['ACME SOCIEDAD COMERCIAL RESPONSABILIDAD LIMITADA', 'SRL'],
    ['ACME EMPRESA INDIVIDUAL DE RESP. LTDA', 'EIRL'],
    ['ACME S.A. CERRADA', 'SAC'],
    ['ACME S. DE R.L.', 'SRL'],
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

const wordsOf = (name: string) => searchedWords(foldName(name));
const letters = (name: string) => lettersOf(foldName(name).spans, 64);

test('abbreviations are expanded on both sides, their words kept', () => {
  expect(wordsOf('DISTRIB KOLPA')).toBe('DISTRIB KOLPA DISTRIBUIDORA DISTRIBUCIONES DISTRIBUIDORES');
  expect(wordsOf('KOLPA')).toBe('KOLPA');
  expect(expansionsOf('INV')).toContain('INVERSIONES');
  expect(expansionsOf('constructor')).toEqual([]);
});

describe('a legal form is taken off before anything is joined', () => {
  test.each([
    ['20 21 436 s a c', '20 21 436', 'SAC'],
    ['GRUPO 3 A S A C', 'GRUPO 3A', 'SAC'],
    ['A B 2000 E.I.R.L.', 'A B 2000', 'EIRL'],
    ['CASA DE S A', 'CASA DE', 'SA'],
  ])('%s', (name, base, form) => {
    expect(foldName(name)).toMatchObject({ base, form });
  });
});

describe('names that are the same', () => {
  test.each([
    [
      'apostrophes',
      ["D'PUYAQUE & CIA S.R.L.", 'D PUYAQUE CIA', 'DPUYAQUE Y COMPAÑÍA', 'D´PUYAQUE & CIA', "D' PUYAQUE CIA"],
    ],
    ['two apostrophes', ["L'HUALLAYO'S", 'L HUALLAYO S', 'LHUALLAYOS', 'L’HUALLAYO ´S', "L HUALLAYO'S"]],
    ['initials', ['G.D.C. S.A.C.', 'G D C', 'GDC SAC', 'G & D & C', 'g. d. c. s. a. c.', 'G-D-C']],
    ['initials in a name', ['GRUPO G.D.C. PERU', 'grupo gdc peru', 'GRUPO G D C DEL PERU', 'GRUPO G & D & C PERU']],
    ['initials with an E', ['A.E.G. LIMA', 'A E G LIMA', 'AEG LIMA']],
    ['a Y between letters', ['A & B MOTORS', 'A Y B MOTORS', 'AB MOTORS', 'A B MOTORS']],
    ['initials that end like a form', ['CIPSA', 'C I P S A']],
    ['connectors', ['MUNICIPALIDAD PROVINCIAL  RICACA', 'municipalidad provincial de ricaca', 'MUN. PROV. DEL RICACA']],
    ['a first connector', ['LA CASA DEL SOL', 'CASA SOL', 'CASA DE EL SOL']],
    [
      'abbreviations',
      ['INV. Y SERV. GRALES. KOLPA', 'INVERSIONES SERVICIOS GENERALES KOLPA', 'INVERS SERV GENERALES KOLPA'],
    ],
    ['STA, STO and SN', ['SAN LUIS Y STA ROSA', 'SN LUIS SANTA ROSA']],
    ['numbers', ['20 21 436 S.A.C.', '2021436', '20 21 436 s a c']],
  ])('%s', (_, [first, ...others]) => {
    for (const other of others) {
      expect(
        letters(other).filter((each) => letters(first!).includes(each)),
        other,
      ).not.toEqual([]);
    }
  });

  test('are not those of another word, another order or a last word more', () => {
    for (const [one, other] of [
      ['DISTRIBUIDORA KOLPA', 'DISTRIBUCIONES KOLPA'],
      ['GRUPO E', 'GRUPO'],
      ['SOL LUNA', 'LUNA SOL'],
      ['G D C PERU', 'G D PERU'],
    ])
      expect(letters(one!).filter((each) => letters(other!).includes(each))).toEqual([]);
  });

  test('have at most so many ways of writing as are asked for', () => {
    const name = 'SERV. DIST. CONST. COMERC. IMP. EXP. DEL SUR';
    expect(letters(name).length).toBeLessThanOrEqual(64);
    const few = lettersOf(foldName(name).spans, 12);
    expect(few).toEqual(['SERVDISTCONSTCOMERCIMPEXPSUR', few[1]]);
    expect(few[1]).toBe('SERVICIOSDISTRIBUIDORACONSTRUCTORACOMERCIALIMPORTACIONESEXPORTACIONESSUR');
  });
});

test('the words by which names with apostrophes and initials are found', () => {
  expect(wordsOf("D'PUYAQUE")).toBe('DPUYAQUE D PUYAQUE');
  expect(wordsOf('D PUYAQUE')).toBe('D PUYAQUE DPUYAQUE');
  expect(wordsOf("L'HUALLAYO'S").split(' ').sort()).toEqual(
    ['L', 'HUALLAYO', 'S', 'LHUALLAYO', 'HUALLAYOS', 'LHUALLAYOS'].sort(),
  );
  expect(wordsOf('L HUALLAYO S').split(' ').sort()).toEqual(
    ['L', 'HUALLAYO', 'S', 'LHUALLAYO', 'HUALLAYOS', 'LHUALLAYOS'].sort(),
  );
  expect(wordsOf('G.D.C. PERU')).toBe('GDC PERU');
  expect(wordsOf('G D C PERU')).toBe('G D C PERU GDC');
  expect(wordsOf('SUR SUR')).toBe('SUR SUR');
});

test('every way of writing a generated name has its letters, and nearly every one its words', () => {
  const luck = makeLuck(14);
  const counts = new Map<string, { typed: number; found: number }>();
  const otherNames: string[] = [];
  for (let number = 0; number < 1_500; number += 1) {
    const { nombre, typed } = spelledName(luck);
    const stored = new Set(wordsOf(nombre).split(' '));
    const storedLetters = lettersOf(foldName(nombre).spans, 12);
    for (const { rule, text } of typed) {
      const { spans } = foldName(text);
      if (!lettersOf(spans, 64).some((each) => storedLetters.includes(each))) otherNames.push(`${text} for ${nombre}`);
      const hasAll = (words: readonly string[]) => words.length > 0 && words.every((each) => stored.has(each));
      const isFound = spans.every(
        ({ spellings, parts }) => spellings.some((each) => stored.has(each)) || hasAll(parts),
      );
      const count = counts.get(rule) ?? { typed: 0, found: 0 };
      counts.set(rule, { typed: count.typed + 1, found: count.found + (isFound ? 1 : 0) });
    }
  }
  expect(otherNames).toEqual([]);
  // Where a register joins D and PUYAQUE without a sign, D PUYAQUE is found by its letters alone.
  for (const [rule, { typed, found }] of counts) expect(found / typed, rule).toBeGreaterThan(0.96);
});

test('significant characters are letters and digits', () => {
  expect(significantCharacters(' á-ñ. 3 ')).toBe(3);
  expect(significantCharacters('¿?¡!·')).toBe(0);
});
