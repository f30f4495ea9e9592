import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeWhole } from '../../../../pipelines/diff/work-files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'padron-work-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('writes pieces of text and bytes as one file and returns its length', () => {
  expect(writeWhole(folder, 'attempt', 'whole', ['ñ\n', Buffer.from('b')])).toBe(4);
  expect(readdirSync(folder)).toEqual(['whole']);
  expect(readFileSync(join(folder, 'whole'), 'utf8')).toBe('ñ\nb');
});

it('leaves nothing behind when it fails half way, so that tries on a full disk do not fill it', () => {
  function* pieces(): Generator<string> {
    yield 'a';
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  }
  expect(() => writeWhole(folder, 'attempt', 'whole', pieces())).toThrow('no space left');
  expect(readdirSync(folder)).toEqual([]);
});
