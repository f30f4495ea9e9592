import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { entryName, writeZip } from '../../../../deploy/local/demo/register/publication.ts';
import { findRawLine, findRawLines, LineSearch, LinesSearch } from '../../../../pipelines/diff/raw-line.ts';

const folder = mkdtempSync(join(tmpdir(), 'padron-raw-line-'));
afterAll(() => rmSync(folder, { recursive: true }));

const signal = new AbortController().signal;

/** Searches the text, cut into pieces of `size` bytes. */
function search(text: string, key: string, { size = text.length, isLast = false } = {}): string | null {
  const bytes = Buffer.from(text, 'latin1');
  const looking = new LineSearch(key, isLast);
  for (let at = 0; at < bytes.length; at += size) if (looking.add(bytes.subarray(at, at + size))) break;
  looking.end();
  return looking.found;
}

const text = [
  'RUC|NOMBRE|',
  '20990000019|PRIMERA|',
  '20990000027|CON EL 20990000035 DENTRO|',
  '120990000043|OTRO NÚMERO|\r',
  '20990000035|SU LÍNEA|\r',
  '20990000019|REPETIDA|',
  '20990000051|LA ÚLTIMA, SIN FIN|',
].join('\n');

test('a line is found by its key, wherever the pieces are cut', () => {
  for (let size = 1; size <= text.length; size += 1) {
    expect(search(text, '20990000019', { size })).toBe('20990000019|PRIMERA|');
    expect(search(text, '20990000019', { size, isLast: true })).toBe('20990000019|REPETIDA|');
    // A line that begins with the key counts before one that only has it.
    expect(search(text, '20990000035', { size })).toBe('20990000035|SU LÍNEA|');
    expect(search(text, '20990000051', { size })).toBe('20990000051|LA ÚLTIMA, SIN FIN|');
    expect(search(text, '20990000043', { size })).toBeNull();
  }
});

test('lines of many RUCs are found in one reading, and the search stops when it has them', () => {
  const bytes = Buffer.from(text, 'latin1');
  const rucs = ['20990000019', '20990000035', '20990000043', '20990000051'];
  for (let size = 1; size <= bytes.length; size += 1) {
    const found = (wanted: readonly string[], isLast = false) => {
      const looking = new LinesSearch(wanted, isLast);
      let read = 0;
      for (let at = 0; at < bytes.length; at += size) {
        read += 1;
        if (looking.add(bytes.subarray(at, at + size))) return { lines: looking.found, read };
      }
      looking.end();
      return { lines: looking.found, read };
    };
    expect(Object.fromEntries(found(rucs).lines)).toEqual({
      '20990000019': '20990000019|PRIMERA|',
      '20990000035': '20990000035|SU LÍNEA|',
      '20990000051': '20990000051|LA ÚLTIMA, SIN FIN|',
    });
    expect(found(['20990000019'], true).lines.get('20990000019')).toBe('20990000019|REPETIDA|');
    // The first line ends at byte 32.
    expect(found(['20990000019']).read * size).toBeLessThan(33 + size);
  }
});

test('any key of any text is found', () => {
  const key = fc.integer({ min: 0, max: 999 }).map((number) => `20990000${String(number).padStart(3, '0')}`);
  const line = fc.tuple(key, fc.stringMatching(/^[A-Z0-9| ]{0,20}$/));
  fc.assert(
    fc.property(
      fc.uniqueArray(line, { selector: ([ruc]) => ruc, minLength: 1, maxLength: 30 }),
      fc.integer({ min: 1, max: 64 }),
      (lines, size) => {
        const whole = lines.map(([ruc, rest]) => `${ruc}|${rest}`).join('\n');
        for (const [ruc, rest] of lines) expect(search(whole, ruc, { size })).toBe(`${ruc}|${rest}`);
        const all = new LinesSearch(
          lines.map(([ruc]) => ruc),
          true,
        );
        all.add(Buffer.from(whole));
        all.end();
        expect([...all.found].sort()).toEqual(lines.map(([ruc, rest]) => [ruc, `${ruc}|${rest}`]).sort());
      },
    ),
  );
});

test('the publication is read in its container, and in its own letters', async () => {
  const path = join(folder, 'padron.zip');
  await writeZip(path, [{ name: entryName, content: Buffer.from(`${text}\n`, 'latin1') }], 6);
  const found = await findRawLine('padron_reducido', path, '20990000035', { isLast: false, signal });
  expect(found).toBe('20990000035|SU LÍNEA|');
  const both = await findRawLines('padron_reducido', path, ['20990000035', '20990000051'], { isLast: false, signal });
  expect([...both.keys()]).toEqual(['20990000035', '20990000051']);
  const stopped = AbortSignal.abort(new Error('over'));
  await expect(findRawLine('padron_reducido', path, '20990000035', { isLast: false, signal: stopped })).rejects.toThrow(
    'over',
  );
});
