import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { StreamError } from '../../../../pipelines/stream/kafka.ts';
import { restoreSchemas, SchemaArchive, type SchemaImport } from '../../../../pipelines/stream/schema-archive.ts';

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
