import kafkajs from 'kafkajs';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { schemaText } from '../../../../pipelines/changes/record.ts';
import { checkStream, prepareStream } from '../../../../pipelines/stream/prepare.ts';
import { SchemaArchive } from '../../../../pipelines/stream/schema-archive.ts';
import { changesOutput } from '../../../../pipelines/stream/topics.ts';
import { rowFields } from '../../../../schemas/avro/columns.ts';
import { makeStreamHarness, type StreamHarness } from '../../../support/engines/stream.ts';

const register = 'padron_reducido';
let harness: StreamHarness;
beforeAll(async () => {
  harness = await makeStreamHarness(inject('endpoints'));
});
afterAll(() => harness.close());

test('a prepared stream is accepted, and preparing it again changes nothing', async () => {
  expect(await checkStream(harness, register)).toEqual(harness.ids);
  expect(await prepareStream(harness, register)).toEqual(harness.ids);
});

test('the registry refuses a schema that is not compatible with earlier readers and writers', async () => {
  const { subject } = changesOutput(harness.prefix, register);
  const withField = (field: object) => {
    const schema = JSON.parse(schemaText(register));
    schema.fields.push(field);
    return JSON.stringify(schema);
  };
  const needed = withField({ name: 'new_field', type: 'string' });
  await expect(harness.registry.register(subject, needed)).rejects.toMatchObject({
    code: 'schema_incompatible',
    retryable: false,
  });
  const removed = JSON.parse(schemaText(register));
  removed.fields = removed.fields.filter(({ name }: { name: string }) => name !== 'detected_at');
  await expect(harness.registry.register(subject, JSON.stringify(removed))).rejects.toMatchObject({
    code: 'schema_incompatible',
  });
  const optional = withField({ name: 'new_field', type: ['null', 'string'], default: null });
  const id = await harness.registry.register(subject, optional);
  expect(id).not.toBe(harness.ids.changes);
  // The rule is transitive: compatibility with the newest schema alone is not enough.
  expect(await harness.registry.idOf(subject, schemaText(register))).toBe(harness.ids.changes);
});

test('a column may be added with a default; adding one without a default or removing one is refused', async () => {
  const { subject } = changesOutput(harness.prefix, register);
  const withColumns = (change: (columns: object[]) => object[]) => {
    const schema = JSON.parse(schemaText(register));
    const row = schema.fields.find(({ name }: { name: string }) => name === 'before').type[1];
    row.fields = change(row.fields);
    return JSON.stringify(schema);
  };
  const registered = (schema: string) => harness.registry.register(subject, schema);
  const refused = { code: 'schema_incompatible', retryable: false };
  const added = { name: 'correo', type: 'string' };
  await expect(registered(withColumns((columns) => [...columns, added]))).rejects.toMatchObject(refused);
  await expect(registered(withColumns((columns) => columns.slice(1)))).rejects.toMatchObject(refused);
  const renamed = { name: 'numero_de_puerta', type: 'string' };
  await expect(registered(withColumns((columns) => [...columns.slice(0, -1), renamed]))).rejects.toMatchObject(refused);
  const withDefault = { ...added, default: '' };
  expect(await registered(withColumns((columns) => [...columns, withDefault]))).toBeGreaterThan(harness.ids.changes);
});

test('columns at other positions than in stored rows are refused, although the registry would accept them', async () => {
  const { subject } = changesOutput(harness.prefix, register);
  const schema = JSON.parse(schemaText(register));
  rowFields(schema).unshift({ name: 'telefono', type: 'string', default: '' });
  const text = JSON.stringify(schema);
  const id = await harness.registry.register(subject, text);
  // This is the schema of an installation that has stored rows in that order.
  const archiveUrl = `${harness.archiveUrl}-elsewhere`;
  await new SchemaArchive(archiveUrl).put(subject, id, text);
  const refused = { code: 'columns_moved', retryable: false, message: expect.stringContaining(`(schema ${id})`) };
  await expect(prepareStream({ ...harness, archiveUrl }, register)).rejects.toMatchObject(refused);
  await expect(checkStream({ ...harness, archiveUrl }, register)).rejects.toMatchObject(refused);
});

test('a topic that could lose records is refused, with the command that repairs it', async () => {
  const { topic } = changesOutput(harness.prefix, register);
  const admin = harness.kafka.admin();
  await admin.connect();
  const set = (value: string) =>
    admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: kafkajs.ConfigResourceTypes.TOPIC,
          name: topic,
          configEntries: [
            { name: 'cleanup.policy', value: 'delete' },
            { name: 'retention.ms', value },
            { name: 'retention.bytes', value: '-1' },
            { name: 'max.message.bytes', value: '8388608' },
          ],
        },
      ],
    });
  await set('604800000');
  const error = await checkStream(harness, register).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: 'topic_settings_differ', retryable: false });
  expect(String(error)).toContain('retention.ms is 604800000, must be -1');
  expect(String(error)).toContain(`--entity-name ${topic} --add-config retention.ms=-1`);
  await set('-1');
  await checkStream(harness, register);
  await admin.disconnect();
});

test('a topic with another number of partitions, or none at all, is refused', async () => {
  await harness.pool.query('UPDATE register_head SET partitions = 7');
  await expect(checkStream(harness, register)).rejects.toMatchObject({ code: 'topic_settings_differ' });
  await harness.pool.query('UPDATE register_head SET partitions = 6');
  const elsewhere = { ...harness, prefix: `${harness.prefix}nowhere.` };
  await expect(checkStream(elsewhere, register)).rejects.toMatchObject({ code: 'topic_missing' });
});

test('a registry that gives an archived id to another schema is refused', async () => {
  const { subject } = changesOutput(harness.prefix, register);
  const archive = new SchemaArchive(harness.archiveUrl);
  await archive.put(subject, harness.ids.changes, schemaText(register));
  await expect(archive.put(subject, harness.ids.changes, '{"type":"string"}')).rejects.toMatchObject({
    code: 'schema_differs',
  });
  // This is the case of a lost registry: the archive has an id that the registry has not.
  await archive.put(subject, 999_999, schemaText(register));
  await expect(checkStream(harness, register)).rejects.toMatchObject({ code: 'schema_differs', retryable: false });
  await expect(prepareStream(harness, register)).rejects.toMatchObject({ code: 'schema_differs' });
});
