import { expect, test } from 'vitest';
import { readIdempotencyKey } from '../../../../api/idempotency/key.ts';
import { ApiProblem } from '../../../../api/problems.ts';

test.each([
  ['pedido-7', 'pedido-7'],
  ['"pedido-7"', 'pedido-7'],
  [' "pedido 7" ', 'pedido 7'],
  ['"dice \\"hola\\" \\\\"', 'dice "hola" \\'],
  ['a"b', 'a"b'],
  ['x'.repeat(255), 'x'.repeat(255)],
])('%s names the key %s: bare or quoted is the same', (header, key) => {
  expect(readIdempotencyKey([header])).toBe(key);
});

test('no header, no key', () => expect(readIdempotencyKey(undefined)).toBeNull());

test.each([
  [['']],
  [['""']],
  [['"a']],
  [['"a"b"']],
  [['"a\\b"']],
  [['x'.repeat(256)]],
  [['clave-ñ']],
  [['a\tb']],
  [['uno', 'dos']],
])('%j is refused, and not repeated in the answer', (values) => {
  let problem: unknown;
  try {
    readIdempotencyKey(values);
  } catch (error) {
    problem = error;
  }
  expect(problem).toBeInstanceOf(ApiProblem);
  const { code, extensions, message } = problem as ApiProblem;
  expect([code, extensions.errors?.[0]?.campo]).toEqual(['parametro_invalido', 'Idempotency-Key']);
  expect(message).not.toMatch(/x{9}|ñ|uno/);
});
