import { expect, test } from 'vitest';
import { csvOf, readPasted } from '../../../../api/pages/console/watch/pasted.ts';

const one = '20990000019';
const other = '20990000043';

const outcomes = (text: string) =>
  readPasted(text).map(({ line, outcome }) => [line, 'ruc' in outcome ? outcome.ruc : outcome.refusal]);

test('one RUC in each line, with empty lines and any line ends', () => {
  expect(outcomes(`${one}\r\n\r\n  ${other} \r`)).toEqual([
    [1, one],
    [3, other],
  ]);
});

test.each([
  ['commas', `codigo,ruc,nombre\n7,${one},"ACME, S.A."`],
  ['semicolons', `codigo;ruc\n7;${one}`],
  ['tabs', `ruc\tcodigo\n${one}\t7`],
  ['bars', `ruc|\n${one}|ACME|`],
  ['quotes', `"ruc"\n"${one}"`],
  ['the form in which Excel keeps a text', `ruc\n="${one}"`],
  ['an apostrophe before it', `ruc\n'${one}`],
  ['a mark of UTF-8 and a no-break space', `\uFEFFruc\n\u00A0${one}`],
])('a table with %s: the heading is left out and the RUC is found', (_, text) => {
  expect(outcomes(text)).toEqual([[2, one]]);
});

test('each line has its own answer', () => {
  expect(outcomes(`${one}\n${one}\n20990000018\n10990000013\n123\nACME\n${other},x`)).toEqual([
    [1, one],
    [2, 'repetido'],
    [3, 'ruc_digito_verificador'],
    [4, 'solo_empresas'],
    [5, 'ruc_formato'],
    [6, 'sin_ruc'],
    [7, other],
  ]);
});

test('a line that is alone is no heading', () => {
  expect(outcomes('ACME')).toEqual([[1, 'sin_ruc']]);
  expect(outcomes('\n \n')).toEqual([]);
});

test('the number of a person is shown masked', () => {
  expect(readPasted('10990000013')[0]!.shown).toBe('10*******13');
  expect(readPasted(one)[0]!.shown).toBe(one);
});

test('a CSV has quotes where needed, and nothing in it is a formula', () => {
  expect(
    csvOf([
      ['ruc', 'nota'],
      [one, 'a "b", c'],
      [other, '=1+1'],
    ]),
  ).toBe(`\uFEFFruc,nota\r\n${one},"a ""b"", c"\r\n${other},'=1+1\r\n`);
});
