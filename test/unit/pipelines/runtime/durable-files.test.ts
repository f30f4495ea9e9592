import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeDurableFolder, writeWholeFile } from '../../../../pipelines/runtime/durable-files.ts';

let folder: string;
let path: string;
let temporary: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'padron-durable-'));
  path = join(folder, 'file');
  temporary = join(folder, 'file.partial');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('gives the file its name only when it is complete, in place of an earlier one', async () => {
  writeFileSync(path, 'old');
  const result = await writeWholeFile(path, temporary, async (to) => {
    await writeFile(to, 'new');
    return readFileSync(path, 'utf8');
  });
  expect(result).toBe('old');
  expect(readFileSync(path, 'utf8')).toBe('new');
  expect(readdirSync(folder).sort()).toEqual(['file']);
});

it('keeps the earlier file and removes the temporary one when the writing fails', async () => {
  writeFileSync(path, 'old');
  const broken = writeWholeFile(path, temporary, async (to) => {
    await writeFile(to, 'half');
    throw new Error('no space left on device');
  });
  await expect(broken).rejects.toThrow('no space left');
  expect(readFileSync(path, 'utf8')).toBe('old');
  expect(readdirSync(folder)).toEqual(['file']);
});

it('makes a folder with all its parents', async () => {
  const deep = join(folder, 'a', 'b', 'c');
  await makeDurableFolder(deep);
  await makeDurableFolder(deep);
  expect(existsSync(deep)).toBe(true);
});
