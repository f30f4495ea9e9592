import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ObjectName } from '../../../pipelines/archive/archive.ts';
import { openArchive } from '../../../pipelines/archive/open.ts';
import { openS3Bucket } from '../../../pipelines/archive/s3.ts';
import { type ObjectStore, startObjectStore } from '../../support/engines/object-store.ts';

// Faults that only a store on the network can have.
let server: ObjectStore;
let folder: string;
let address: string;
beforeAll(async () => {
  server = await startObjectStore();
  folder = await mkdtemp(join(tmpdir(), 'padron-bucket-'));
  address = await server.archiveUrl('faults', '');
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const nameOf = (bytes: Buffer): ObjectName => ({
  register: 'padron_reducido',
  kind: 'changes',
  sha256: createHash('sha256').update(bytes).digest('hex'),
});

async function putBytes(bytes: Buffer) {
  const file = join(folder, 'source');
  await writeFile(file, bytes);
  return (await openArchive(address, join(folder, 'work'))).put(nameOf(bytes), file);
}

it('returns an object of several parts byte for byte', async () => {
  const bytes = randomBytes(40 * 2 ** 20 + 7);
  expect(await putBytes(bytes)).toBe('stored');
  const archive = await openArchive(address, join(folder, 'elsewhere'));
  expect(bytes.equals(await readFile(await archive.localFile(nameOf(bytes))))).toBe(true);
});

it('refuses bytes that were changed in the store, and keeps no copy of them', async () => {
  const bytes = Buffer.from('the right bytes');
  const { client, bucket } = openS3Bucket(address);
  const Key = `padron_reducido/changes/${nameOf(bytes).sha256}`;
  await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: 'other bytes' }));
  const archive = await openArchive(address, join(folder, 'damaged'));
  await expect(archive.localFile(nameOf(bytes))).rejects.toMatchObject({ code: 'hash_mismatch', retryable: false });
  expect(await readdir(join(folder, 'damaged/archive/copies/padron_reducido/changes'))).toEqual([]);
  client.destroy();
});

it('refuses a missing bucket with what to check, and without the signed request', async () => {
  const archive = await openArchive(address.replace('s3://faults', 's3://absent'), join(folder, 'work'));
  const put = writeFile(join(folder, 'source'), 'x').then(() =>
    archive.put(nameOf(Buffer.from('x')), join(folder, 'source')),
  );
  const error = await put.catch((caught: unknown) => caught as Error);
  expect(error).toMatchObject({ code: 'refused', retryable: false });
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toMatch(/Signature|Credential|padron-tests/);
});

it('reports a store that does not answer as retryable', async () => {
  const away = `s3://faults/?region=us-east-1&path_style=1&endpoint=${encodeURIComponent('http://127.0.0.1:9')}`;
  const archive = await openArchive(away, join(folder, 'work'));
  await expect(archive.size(nameOf(Buffer.from('x')))).rejects.toMatchObject({ code: 'unavailable', retryable: true });
});
