import { expect, test } from 'vitest';
import { parseInput, queryOf } from '../../../api/request.ts';
import { searchQuery } from '../../../schemas/http/search.ts';

const read = (querystring: string) => parseInput(searchQuery, queryOf({ querystring })).q;

test.each([
  ['q=%C3%B1andu', 'ñandu'],
  ['q=compa%C3%B1ia+minera', 'compañia minera'],
  ['q=100%25+natural', '100% natural'],
  ['q=a%26b%2Bc', 'a&b+c'],
])('%s is read', (querystring, text) => expect(read(querystring)).toBe(text));

test.each([
  // JavaScript's escape() writes this, sometimes encoded once more.
  'q=%u00F1andu',
  'q=%25u00F1andu',
  'q=%F1andu',
  'q=100%',
  'q=100%+natural',
  'q=%',
  'q=%C3andu',
])('%s is refused, and the answer names the encoding', (querystring) => {
  const mensaje = 'no está en UTF-8, donde ñ es %C3%B1';
  expect(() => read(querystring)).toThrowError(
    expect.objectContaining({
      code: 'parametro_invalido',
      message: `q: ${mensaje}.`,
      extensions: { errors: [{ campo: 'q', mensaje }] },
    }),
  );
});
