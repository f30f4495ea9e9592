import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readIdempotencyKey } from '../../../../api/idempotency/answers.ts';
import { makeDocument } from '../../../../api/openapi/document.ts';
import { ApiProblem } from '../../../../api/problems.ts';

test.each([
  ['pedido-7', 'pedido-7'],
  ['"pedido-7"', 'pedido-7'],
  [' "pedido 7" ', 'pedido 7'],
  ['"dice \\"hola\\" \\\\"', 'dice "hola" \\'],
  ['a"b', 'a"b'],
  ['x'.repeat(255), 'x'.repeat(255)],
  [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
])('%s names the key %s: bare or quoted is the same', (header, key) => {
  expect(readIdempotencyKey([header])).toBe(key);
});

test('the pattern in the document accepts exactly the keys that are read', () => {
  const { parameters } = makeDocument('', {}).paths!['/id/v1/ruc/batch']!.post!;
  const shown = parameters!.find((each) => 'name' in each && each.name === 'Idempotency-Key');
  const { pattern } = (shown as { schema: { pattern: string } }).schema;
  const written = fc.oneof(
    fc.string(),
    fc.stringMatching(new RegExp(pattern)),
    fc.constantFrom('a b', '" "', ' a', 'a '),
  );
  fc.assert(
    fc.property(written, (text) => {
      // HTTP strips spaces around a header's value.
      fc.pre(text === text.trim());
      expect(new RegExp(pattern).test(text)).toBe(isRead(text));
    }),
  );
});

function isRead(text: string): boolean {
  try {
    return readIdempotencyKey([text]) !== null;
  } catch {
    return false;
  }
}

test('no header, no key', () => expect(readIdempotencyKey(undefined)).toBeNull());

test.each([
  [['']],
  [['""']],
  [['"a']],
  [['"a"b"']],
  [['"a\\b"']],
  [['x'.repeat(256)]],
  [[`"${'x'.repeat(256)}"`]],
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
