import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Archive, ObjectName } from '../../../pipelines/archive/archive.ts';
import { openArchive, openTexts } from '../../../pipelines/archive/open.ts';
import { type ObjectStore, startObjectStore } from '../../support/engines/object-store.ts';

let server: ObjectStore;
let buckets = 0;
beforeAll(async () => {
  server = await startObjectStore();
});
afterAll(() => server.stop());

/** Each entry gives the address of an empty archive. Every store must pass the same tests. */
const stores: Record<string, (folder: string) => Promise<string>> = {
  folder: async (folder) => pathToFileURL(join(folder, 'archive')).href,
  bucket: () => {
    buckets += 1;
    return server.archiveUrl(`archive-${buckets}`, 'padron/tests');
  },
};

describe.each(Object.entries(stores))('archive in a %s', (_name, addressIn) => {
  let folder: string;
  let address: string;
  let archive: Archive;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'padron-archive-'));
    address = await addressIn(folder);
    archive = await openArchive(address, join(folder, 'work'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function fileWith(bytes: Buffer, name = 'source'): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, bytes);
    return path;
  }
  function nameOf(bytes: Buffer, kind: ObjectName['kind'] = 'publications'): ObjectName {
    return { register: 'padron_reducido', kind, sha256: createHash('sha256').update(bytes).digest('hex') };
  }
  async function contentOf(name: ObjectName): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of await archive.read(name)) pieces.push(piece as Buffer);
    return Buffer.concat(pieces);
  }

  it('keeps what was put, as a stream, as a local file and by its size; the source is gone', async () => {
    const bytes = randomBytes(3_000_000);
    const source = await fileWith(bytes);
    expect(await archive.put(nameOf(bytes), source)).toBe('stored');
    expect(bytes.equals(await contentOf(nameOf(bytes)))).toBe(true);
    expect(bytes.equals(await readFile(await archive.localFile(nameOf(bytes))))).toBe(true);
    expect(await archive.size(nameOf(bytes))).toBe(bytes.length);
    await expect(stat(source)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('takes the same bytes twice as one object', async () => {
    const bytes = randomBytes(1_000);
    await archive.put(nameOf(bytes), await fileWith(bytes));
    const again = await fileWith(bytes);
    expect(await archive.put(nameOf(bytes), again)).toBe('already_there');
    await expect(stat(again)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(bytes.equals(await contentOf(nameOf(bytes)))).toBe(true);
  });

  it('takes the same bytes put by several at once', async () => {
    const bytes = randomBytes(500_000);
    const files = await Promise.all([1, 2, 3, 4].map((number) => fileWith(bytes, `source-${number}`)));
    await Promise.all(files.map((file) => archive.put(nameOf(bytes), file)));
    expect(bytes.equals(await contentOf(nameOf(bytes)))).toBe(true);
  });

  it('refuses bytes that do not have the hash of the name, and stores nothing', async () => {
    const wrong = nameOf(Buffer.from('other'));
    const source = await fileWith(Buffer.from('these'));
    await expect(archive.put(wrong, source)).rejects.toMatchObject({ code: 'hash_mismatch', retryable: false });
    expect(await archive.size(wrong)).toBeNull();
  });

  it('keeps the kinds apart', async () => {
    const bytes = Buffer.from('bytes');
    await archive.put(nameOf(bytes, 'changes'), await fileWith(bytes));
    expect(await archive.size(nameOf(bytes, 'changes'))).toBe(5);
    expect(await archive.size(nameOf(bytes, 'overlays'))).toBeNull();
  });

  it('reports an object that is not there', async () => {
    const name = nameOf(Buffer.from('nothing'));
    expect(await archive.size(name)).toBeNull();
    await expect(archive.localFile(name)).rejects.toMatchObject({ code: 'not_found' });
    await expect(archive.read(name)).rejects.toMatchObject({ code: 'not_found' });
  });

  it.each([
    { register: 'padron_reducido', kind: 'publications', sha256: '../../../etc/passwd' },
    { register: '../x', kind: 'publications', sha256: 'a'.repeat(64) },
    { register: 'padron_reducido', kind: 'secrets', sha256: 'a'.repeat(64) },
    { register: 'padron_reducido', kind: 'publications', sha256: 'A'.repeat(64) },
  ])('refuses the name %j', async (name) => {
    await expect(archive.size(name as ObjectName)).rejects.toMatchObject({ code: 'name_invalid' });
  });

  it('gives an unfinished file the same path again, in this and a later process', async () => {
    const path = await archive.incomingFile('padron_reducido-7.part');
    await writeFile(path, 'half');
    const later = await (await openArchive(address, join(folder, 'work'))).incomingFile('padron_reducido-7.part');
    expect(await readFile(later, 'utf8')).toBe('half');
    await expect(archive.incomingFile('../x')).rejects.toMatchObject({ code: 'name_invalid' });
  });

  it('discards only unfinished files that were not touched for long', async () => {
    const hour = 3_600_000;
    const old = await archive.incomingFile('old.part');
    const fresh = await archive.incomingFile('fresh.part');
    await writeFile(old, 'old');
    await writeFile(fresh, 'fresh');
    const then = new Date(Date.now() - 2 * hour);
    await utimes(old, then, then);
    await archive.discardIncoming(hour);
    expect(await readFile(fresh, 'utf8')).toBe('fresh');
    await expect(stat(old)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('discards nothing when nothing was ever written', async () => {
    await archive.discardIncoming(0);
    expect(await readdir(folder)).toEqual([]);
  });

  it('gives objects that cannot be changed by accident', async () => {
    const bytes = Buffer.from('evidence');
    await archive.put(nameOf(bytes), await fileWith(bytes));
    expect((await stat(await archive.localFile(nameOf(bytes)))).mode & 0o222).toBe(0);
  });

  it('another process finds what was put', async () => {
    const bytes = randomBytes(20_000);
    await archive.put(nameOf(bytes), await fileWith(bytes));
    const other = await openArchive(address, join(folder, 'other-work'));
    expect(bytes.equals(await readFile(await other.localFile(nameOf(bytes))))).toBe(true);
  });

  it('removes raw publications and nothing else, and removes repeatedly without an error', async () => {
    const bytes = randomBytes(100);
    for (const kind of ['publications', 'changes'] as const)
      await archive.put(nameOf(bytes, kind), await fileWith(bytes));
    await archive.localFile(nameOf(bytes));
    await archive.remove(nameOf(bytes));
    await archive.remove(nameOf(bytes));
    expect(await archive.size(nameOf(bytes))).toBeNull();
    await expect(archive.localFile(nameOf(bytes)).then((file) => stat(file))).rejects.toThrow();
    await expect(archive.remove(nameOf(bytes, 'changes'))).rejects.toMatchObject({ code: 'name_invalid' });
    expect(await archive.size(nameOf(bytes, 'changes'))).toBe(100);
  });

  it('keeps the first text that was put under a name, and lists the texts', async () => {
    const texts = await openTexts(address, 'schemas');
    expect(await texts.list('subject')).toEqual([]);
    expect(await texts.read('subject', '1.avsc')).toBeNull();
    expect(await texts.put('subject', '1.avsc', '{"á": 1}')).toBe('stored');
    expect(await texts.put('subject', '1.avsc', 'other')).toBe('already_there');
    await texts.put('subject', '12.avsc', '{}');
    expect(await texts.read('subject', '1.avsc')).toBe('{"á": 1}');
    expect((await texts.list('subject')).sort()).toEqual(['1.avsc', '12.avsc']);
    await expect(texts.put('..', 'x', '')).rejects.toMatchObject({ code: 'name_invalid' });
  });
});
