import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { readToken, secretMatches } from '../../../../api/accounts/tokens.ts';
import { requestIdOf } from '../../../../api/request.ts';

const id = '0123456789abcdef';
const secret = 'a'.repeat(48);

test('a token is read by its exact form', () => {
  expect(readToken(`pad_live_${id}_${secret}`)).toEqual({ id, secret });
  for (const text of [
    '',
    'pad_live_',
    `pad_live_${id}_${secret}0`,
    `pad_test_${id}_${secret}`,
    `${id}_${secret}`,
    `pad_live_${id}_${secret.toUpperCase()}`,
  ])
    expect(readToken(text)).toBeNull();
});

test('only the secret that was hashed matches', () => {
  const stored = createHash('sha256').update(secret).digest();
  expect(secretMatches(secret, stored)).toBe(true);
  expect(secretMatches(`${secret.slice(1)}b`, stored)).toBe(false);
});

test('request ids: 1 to 128 printable characters are kept', () => {
  for (const kept of ['a', 'pedido 7', 'x'.repeat(128)]) expect(requestIdOf(kept)).toBe(kept);
  for (const refused of [undefined, '', 'x'.repeat(129), 'ñ', 'a\tb', ['a', 'b']])
    expect(requestIdOf(refused)).toMatch(/^[0-9a-f-]{36}$/);
});
