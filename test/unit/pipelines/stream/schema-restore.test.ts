import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { StreamError } from '../../../../pipelines/stream/kafka.ts';
import {
  connectSchemaImport,
  restoreSchemas,
  SchemaArchive,
  type SchemaImport,
} from '../../../../pipelines/stream/schema-archive.ts';

const folder = mkdtempSync(join(tmpdir(), 'padron-restore-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a registry that honours given ids receives each schema once, and one filler', async () => {
  const archive = new SchemaArchive(pathToFileURL(folder).href);
  await archive.put('a-value', 100_019, '{"type":"record","name":"A","fields":[]}');
  await archive.put('a-value', 100_023, '{"type":"record","name":"A","fields":[],"doc":"2"}');
  const calls: string[] = [];
  const importing: SchemaImport = {
    setMode: async (mode) => void calls.push(mode),
    register: async (subject, _schema, id, version) => {
      calls.push(`${subject} ${id} ${version}`);
      return id;
    },
    setCompatibility: async (subject, compatibility) => void calls.push(`${subject} ${compatibility}`),
    remove: async (subject) => void calls.push(`remove ${subject}`),
  };
  const registry = {
    register: () => Promise.reject(new Error('not asked')),
    idOf: () => Promise.reject(new Error('not asked')),
    textOf: () => Promise.reject(new StreamError('schema_missing', 'no such schema')),
  };
  await restoreSchemas({ registry, importing, archive }, ['a-value']);
  expect(calls).toEqual([
    'IMPORT',
    'padron.restore-value 100018 1',
    'a-value 100019 1',
    'a-value 100023 2',
    'remove padron.restore-value',
    'READWRITE',
    'a-value FULL_TRANSITIVE',
  ]);
});

it.each([
  [[200, 200], 'removed'],
  [[404, 404], 'removed'],
  // An earlier restoration died between the two calls.
  [[404, 200], 'removed'],
  [[200, 500], 'the registry refuses to remove a-value: 500 out of order'],
  [[401, 401], 'the registry refuses to remove a-value: 401 out of order'],
])('removing a subject whose two calls answer %j ends with: %s', async (statuses, end) => {
  const left = [...statuses];
  const server = createServer((_, response) => response.writeHead(left.shift()!).end('out of order')).listen(0);
  const { port } = server.address() as AddressInfo;
  const outcome = await connectSchemaImport(`http://127.0.0.1:${port}`)
    .remove('a-value')
    .then(() => 'removed')
    .catch((error: Error) => error.message);
  server.close();
  expect(outcome).toBe(end);
});
