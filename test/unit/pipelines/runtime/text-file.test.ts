import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeUtf8 } from '../../../../pipelines/runtime/text-file.ts';

const text = '{\n  "name": "Día no laborable: Ñuñoa, «fiesta»"\n}\n';
const problemOf = (bytes: Uint8Array) => {
  const decoded = decodeUtf8(bytes);
  return decoded.ok ? null : decoded.problem;
};
const latin1 = (words: string) => Buffer.from(words, 'latin1');
const bigEndian = (words: string) => Buffer.from(words, 'utf16le').swap16();
const utf32 = (words: string) => Buffer.from(Uint32Array.from([...words].map((one) => one.codePointAt(0)!)).buffer);

test('UTF-8 is read, with its byte order mark or without', () => {
  expect(decodeUtf8(Buffer.from(text))).toEqual({ ok: true, text });
  expect(decodeUtf8(Buffer.from(`\ufeff${text}`))).toEqual({ ok: true, text });
  expect(decodeUtf8(Buffer.alloc(0))).toEqual({ ok: true, text: '' });
});

test('every text in UTF-8 is read as it is, unless it has zero bytes or a lost letter', () => {
  const texts = fc.string({ unit: 'grapheme' }).filter((one) => !/[\0\ufffd]/.test(one) && !one.startsWith('\ufeff'));
  fc.assert(
    fc.property(texts, (one) => {
      expect(decodeUtf8(Buffer.from(one))).toEqual({ ok: true, text: one });
    }),
  );
});

test.each([
  ['UTF-16 with its mark', Buffer.from(`\ufeff${text}`, 'utf16le'), 'UTF-16'],
  ['UTF-16, big-endian, with its mark', bigEndian(`\ufeff${text}`), 'UTF-16'],
  ['UTF-16 without a mark', Buffer.from(text, 'utf16le'), 'UTF-16'],
  ['UTF-16, big-endian, without a mark', bigEndian(text), 'UTF-16'],
  ['UTF-32 with its mark', utf32(`\ufeff${text}`), 'UTF-32'],
  ['UTF-32 without a mark', utf32(text), 'UTF-32'],
])('%s is refused by its name', (_kind, bytes, name) => {
  expect(problemOf(bytes)).toBe(`It is encoded in ${name}, and must be UTF-8.`);
});

test('Windows-1252 is refused by its name, with the line and the byte', () => {
  const spanish = '{"days":\n [{"name": "Día no laborable"}]}';
  expect(problemOf(latin1(spanish))).toBe(
    'It is encoded in Windows-1252, and must be UTF-8: line 2 has the byte 0xed.',
  );
  // Windows-1252 has the curved quotation marks where ISO 8859-1 has control characters.
  expect(problemOf(Buffer.from([0x93, 0x41, 0xf1, 0x6f, 0x94]))).toContain('encoded in Windows-1252');
  expect(problemOf(latin1('A\u00d1O'))).toMatch(/line 1 has the byte 0xd1\.$/);
});

test.each([
  ['the code page of old DOS programs', Buffer.from([0x44, 0xa1, 0x61, 0x0a])],
  ['Mac Roman', Buffer.from([0x61, 0x96, 0x6f, 0x9f, 0x61])],
  ['UTF-8 that was cut within a letter', Buffer.from('DÍA').subarray(0, 2)],
  ['an encoding of Chinese', Buffer.from([0xc4, 0xe3, 0xba, 0xc3])],
])('%s is refused as neither UTF-8 nor Windows-1252', (_kind, bytes) => {
  expect(problemOf(bytes)).toMatch(/neither in UTF-8 nor in Windows-1252: line 1 has the byte 0x[0-9a-f]{2}\.$/);
});

test('a file with zero bytes is no text, and a letter that an earlier conversion lost is found', () => {
  expect(problemOf(Buffer.from('PK\u0003\u0004\0\0data'))).toBe('It has zero bytes, so it is no UTF-8 text.');
  expect(problemOf(Buffer.from('one\ntwo\nD\ufffda'))).toMatch(/^Line 3 has the character U\+FFFD/);
});

test('no refusal quotes the file', () => {
  for (const bytes of [
    latin1('MARÍA QUISPE'),
    Buffer.from('MARÍA QUISPE', 'utf16le'),
    Buffer.from('MAR\ufffdA QUISPE'),
  ])
    expect(problemOf(bytes)).not.toContain('QUISPE');
});
