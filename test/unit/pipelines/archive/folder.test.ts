import { createHash } from 'node:crypto';
import { chmod, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ObjectName } from '../../../../pipelines/archive/archive.ts';
import { FolderArchive } from '../../../../pipelines/archive/folder.ts';

const bytes = Buffer.from('the right bytes');
const sha256 = createHash('sha256').update(bytes).digest('hex');
const name: ObjectName = { register: 'padron_reducido', kind: 'changes', sha256 };
let root: string;
let archive: FolderArchive;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'padron-folder-'));
  archive = new FolderArchive(root);
  const file = await archive.incomingFile('source');
  await writeFile(file, bytes);
  await archive.put(name, file);
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** The times of files have a resolution of some milliseconds. */
const fileTimeMs = 20;
const damages: Record<string, (path: string) => Promise<void>> = {
  'other bytes': (path) => writeFile(path, 'the other bytes'),
  'a cut file': (path) => truncate(path, 3),
  'an empty file': (path) => truncate(path, 0),
};

it.each(Object.keys(damages))(
  'refuses %s, in the process that put it and in the next one, until it is right',
  async (what) => {
    const path = await archive.localFile(name);
    await chmod(path, 0o644);
    await delay(fileTimeMs);
    await damages[what]!(path);
    for (const each of [archive, new FolderArchive(root)]) {
      for (const read of [() => each.localFile(name), () => each.read(name), () => each.localFile(name)]) {
        await expect(read()).rejects.toMatchObject({
          code: 'hash_mismatch',
          retryable: false,
          message: expect.stringMatching(`^padron_reducido/changes/${sha256} in the archive is damaged: `),
        });
      }
      await writeFile(path, bytes);
      expect(await each.localFile(name)).toBe(path);
      await damages[what]!(path);
    }
  },
);
