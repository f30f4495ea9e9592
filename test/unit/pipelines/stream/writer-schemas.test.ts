import avsc from 'avsc';
import { expect, it, vi } from 'vitest';
import {
  type Change,
  decodeChange,
  headerBytes,
  schemaHeader,
  schemaText,
} from '../../../../pipelines/changes/record.ts';
import {
  type RowColumns,
  type SchemaSource,
  type TranslatedRecord,
  WriterSchemas,
} from '../../../../pipelines/stream/writer-schemas.ts';
import { encodeChange } from '../../../support/registers/change-records.ts';

const register = 'agentes_retencion';
const currentId = 40;
const row = { nombre: 'EMPRESA "Ñ" S.A.', desde: '2026-01-01', resolucion: 'R.S. 1-2026' };
const change: Change = {
  edition: 3,
  op: 'u',
  seq: 1,
  ruc: '20990000019',
  before: row,
  after: { ...row, nombre: 'OTRA' },
  line: 7,
  detectedAt: new Date('2026-11-20T08:00:00Z'),
  corrects: null,
};

interface Schema {
  namespace: string;
  fields: { name: string; type: unknown; default?: unknown }[];
}
const currentSchema = (): Schema => JSON.parse(schemaText(register));
const rowFields = (schema: Schema) => (schema.fields[4]!.type as [string, Schema])[1].fields;
const asWritten = (schema: Schema, record: object, id: number) =>
  Buffer.concat([schemaHeader(id), avsc.Type.forSchema(schema as never, { wrapUnions: false }).toBuffer(record)]);
const { detectedAt, ...rest } = change;
const record = { ...rest, detected_at: detectedAt.getTime() };

function schemasOf(known: Record<number, Schema>, textOf?: () => string, rows: RowColumns = 'today') {
  const source = vi.fn<SchemaSource>(async (_, id) => (known[id] === undefined ? null : JSON.stringify(known[id])));
  return { source, schemas: new WriterSchemas(source, new Map([[register, currentId]]), rows, textOf) };
}

async function translated(schemas: WriterSchemas, value: Buffer): Promise<TranslatedRecord> {
  const read = await schemas.current(register, value);
  if (Buffer.isBuffer(read)) throw new Error('the record was not translated');
  return read;
}

it('returns a record of the current schema unchanged, without a request', () => {
  const { source, schemas } = schemasOf({});
  const value = encodeChange(change, currentId, register);
  expect(schemas.current(register, value)).toBe(value);
  expect(source).not.toHaveBeenCalled();
});

it('translates a record without a later field to the current schema, and fetches its schema once', async () => {
  const earlier = currentSchema();
  earlier.fields = earlier.fields.filter(({ name }) => name !== 'corrects');
  const { source, schemas } = schemasOf({ 7: earlier });
  const value = asWritten(earlier, record, 7);
  for (const read of await Promise.all([translated(schemas, value), translated(schemas, value)])) {
    expect(read.columns).toBe(3);
    expect(read.value.readInt32BE(1)).toBe(currentId);
    expect(decodeChange(read.value, register)).toEqual(change);
  }
  expect(source).toHaveBeenCalledOnce();
});

it('a column that was added with a default has that value in earlier records', async () => {
  const later = currentSchema();
  rowFields(later).push({ name: 'correo', type: 'string', default: '' });
  const { schemas } = schemasOf({ 7: currentSchema() }, () => JSON.stringify(later));
  const read = await translated(schemas, asWritten(currentSchema(), record, 7));
  expect(read.columns).toBe(4);
  const decoded = avsc.Type.forSchema(later as never, { wrapUnions: false }).fromBuffer(
    read.value.subarray(headerBytes),
  );
  expect(decoded).toMatchObject({ before: { ...row, correo: '' }, after: { ...row, nombre: 'OTRA', correo: '' } });
});

it('rows for storage keep the columns that they were written with, in a record of today', async () => {
  const earlier = currentSchema();
  earlier.fields = earlier.fields.filter(({ name }) => name !== 'corrects');
  const later = currentSchema();
  rowFields(later).push({ name: 'correo', type: 'string', default: '' });
  const { schemas } = schemasOf({ 7: earlier }, () => JSON.stringify(later), 'as_written');
  const read = await translated(schemas, asWritten(earlier, record, 7));
  expect(read.columns).toBe(3);
  // The bytes are those of a record with today's fields and rows with that day's columns.
  expect(decodeChange(read.value, register)).toEqual(change);
});

it('refuses records whose cells it would have to guess or to drop', async () => {
  const newer = currentSchema();
  rowFields(newer).push({ name: 'correo', type: 'string', default: '' });
  const other: Schema = { ...currentSchema(), namespace: 'padron.buenos_contribuyentes' };
  const otherType = currentSchema();
  otherType.fields[2]!.type = 'string';
  const moved = currentSchema();
  rowFields(moved).reverse();
  const { source, schemas } = schemasOf({ 1: newer, 2: other, 3: otherType, 5: moved });
  const read = async (id: number) => schemas.current(register, asWritten(currentSchema(), record, id));
  await expect(read(1)).rejects.toThrow('columns of a newer release: correo');
  await expect(read(5)).rejects.toThrow("other columns at the places of today's");
  await expect(read(2)).rejects.toThrow('of another register');
  await expect(read(3)).rejects.toThrow('cannot be read as the current one');
  for (let time = 0; time < 2; time += 1) await expect(read(9)).rejects.toThrow('schema id 9 is not known');
  expect(source.mock.calls.filter(([, id]) => id === 9)).toHaveLength(1);
  const damaged = asWritten(currentSchema(), record, 4).subarray(0, 30);
  const { schemas: knowing } = schemasOf({ 4: currentSchema() });
  await expect(knowing.current(register, damaged)).rejects.toMatchObject({ code: 'undecodable_record' });
});

it('fetches again after neither store answered', async () => {
  const { source, schemas } = schemasOf({ 7: currentSchema() });
  source.mockRejectedValueOnce(new Error('socket hang up'));
  const value = asWritten(currentSchema(), record, 7);
  await expect(schemas.current(register, value)).rejects.toMatchObject({
    code: 'registry_unavailable',
    retryable: true,
  });
  expect(decodeChange((await translated(schemas, value)).value, register)).toEqual(change);
});
