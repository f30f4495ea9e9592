import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stack, startStack } from '../../../../deploy/local/stack.ts';
import { connectRegistry, type SchemaRegistry } from '../../../../pipelines/stream/registry.ts';
import { connectSchemaImport, restoreSchemas, SchemaArchive } from '../../../../pipelines/stream/schema-archive.ts';

/** A separate registry with an empty storage, as after the loss of the first one. */
let folder: string;
let stack: Stack;
let registry: SchemaRegistry;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'padron-restore-'));
  stack = await startStack({ directory: join(folder, 'stack'), engines: ['postgres', 'registry'], log: () => {} });
  registry = connectRegistry(stack.endpoints.SCHEMA_REGISTRY_URL);
});
afterAll(async () => {
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

const schemaOf = (...fields: string[]) =>
  JSON.stringify({
    type: 'record',
    name: 'Change',
    fields: fields.map((name) => ({ name, type: ['null', 'string'], default: null })),
  });
const archiveIn = (name: string) => new SchemaArchive(pathToFileURL(join(folder, name)).href);
const partsWith = (archive: SchemaArchive) => ({
  registry,
  importing: connectSchemaImport(stack.endpoints.SCHEMA_REGISTRY_URL),
  archive,
});

test('an empty registry gets every schema back under its id, even when ids between them are missing', async () => {
  const archive = archiveIn('archive');
  // The subjects have two versions of one schema, and one schema that two subjects share.
  await archive.put('a-value', 2, schemaOf('one'));
  await archive.put('a-value', 7, schemaOf('one', 'two'));
  await archive.put('b-value', 4, schemaOf('shared'));
  await archive.put('c-value', 4, schemaOf('shared'));
  const subjects = ['a-value', 'b-value', 'c-value'];
  const restored = await restoreSchemas(partsWith(archive), subjects);
  expect(restored.map(({ subject, id, outcome }) => `${id} ${subject} ${outcome}`)).toEqual([
    '2 a-value restored',
    '4 b-value restored',
    '4 c-value restored',
    '7 a-value restored',
  ]);
  for (const subject of subjects) await archive.check(registry, subject);
  expect(await registry.idOf('a-value', schemaOf('one', 'two'))).toBe(7);
  // A repeat finds everything there, and the compatibility rule for later schemas is back.
  expect((await restoreSchemas(partsWith(archive), subjects)).map(({ outcome }) => outcome)).toEqual(
    Array(4).fill('there'),
  );
  const needed = JSON.stringify({ type: 'record', name: 'Change', fields: [{ name: 'needed', type: 'string' }] });
  await expect(registry.register('a-value', needed)).rejects.toMatchObject({ code: 'schema_incompatible' });
});

test('a registry with other schemas is refused, and nothing in it is overwritten', async () => {
  const other = archiveIn('other');
  await other.put('a-value', 2, schemaOf('another'));
  await expect(restoreSchemas(partsWith(other), ['a-value'])).rejects.toMatchObject({ code: 'schema_differs' });
  expect(await registry.textOf('a-value', 2)).toContain('one');
  // Its next id is past the wanted ones: only an empty storage, or its own, can help.
  const late = archiveIn('late');
  await late.put('d-value', 3, schemaOf('late'));
  const error = await restoreSchemas(partsWith(late), ['d-value']).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: 'schema_differs', retryable: false });
  expect(String(error)).toMatch(/empty storage/);
});
