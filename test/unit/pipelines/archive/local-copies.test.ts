import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LocalCopies } from '../../../../pipelines/archive/local-copies.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'padron-copies-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const copy = (copies: LocalCopies, key: string, text: string, fetched: string[] = []) =>
  copies.of(key, sha256(text), async (path) => {
    fetched.push(key);
    await writeFile(path, text);
  });

it('fetches once', async () => {
  const copies = new LocalCopies(folder);
  const fetched: string[] = [];
  expect(await copy(copies, 'r/changes/a', 'text', fetched)).toBe(await copy(copies, 'r/changes/a', 'text', fetched));
  expect(fetched).toEqual(['r/changes/a']);
});

it('removes the copies requested longest ago when they are too large, but none that may be about to be opened', async () => {
  const hour = 3_600_000;
  const copies = new LocalCopies(folder, { maxBytes: 250, minAgeMs: hour });
  const ages = { first: 4, second: 2, third: 3, fresh: 0 };
  for (const [key, hours] of Object.entries(ages)) {
    const then = new Date(Date.now() - hours * hour);
    await utimes(await copy(copies, key, key.padEnd(100)), then, then);
  }
  await copy(copies, 'new', 'new');
  // The limit of 400 bytes made the oldest two go: `first` and `third`.
  expect((await readdir(folder)).sort()).toEqual(['fresh', 'new', 'second']);
});

it('leaves nothing when a fetch fails', async () => {
  const copies = new LocalCopies(folder);
  const broken = copies.of('key', sha256('whole'), async (path) => {
    await writeFile(path, 'half');
    throw new Error('the line broke');
  });
  await expect(broken).rejects.toThrow('the line broke');
  await expect(copies.of('key', sha256('whole'), (path) => writeFile(path, 'half'))).rejects.toMatchObject({
    code: 'hash_mismatch',
  });
  expect(await readdir(folder)).toEqual([]);
});
