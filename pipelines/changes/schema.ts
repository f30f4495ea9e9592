import { createHash } from 'node:crypto';
import { type AvroField, rowFields } from '../../schemas/avro/columns.ts';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import { schemaText } from './record.ts';
import { changeFields, operations } from './record-bytes.ts';

interface AvroRecord {
  fields: AvroField[];
}

/** Returns the schema of a register's changes. Throws if ChangeEncoder would write other fields than the schema has. */
export function changeSchema(register: RegisterName): AvroRecord {
  const schema = JSON.parse(schemaText(register)) as AvroRecord;
  const names = schema.fields.map(({ name }) => name);
  const columns = rowFields(schema).map(({ name }) => name);
  const expected = registers[register].columns.map(({ name }) => name);
  const symbols = (schema.fields[1]!.type as { symbols: string[] }).symbols;
  for (const [found, wanted] of [
    [names, changeFields],
    [columns, expected],
    [symbols, operations],
  ] as const) {
    if (found.join() !== wanted.join())
      throw new Error(`${register}.avsc has ${found.join()}, expected ${wanted.join()}`);
  }
  return schema;
}

export const overlayReasons = ['bad_line', 'empty_cell', 'correction'] as const;
export type OverlayReason = (typeof overlayReasons)[number];

/**
 * Returns the schema of an overlay: the rows in which an edition's state differs from its publication, each with a
 * reason. If `row` is null, the state does not have this RUC.
 */
export function overlaySchema(register: RegisterName): unknown {
  return {
    type: 'record',
    name: 'OverlayRow',
    namespace: `padron.${register}`,
    fields: [
      { name: 'ruc', type: 'string' },
      { name: 'reason', type: { type: 'enum', name: 'OverlayReason', symbols: overlayReasons } },
      { name: 'line', type: ['null', 'long'] },
      { name: 'row', type: beforeOf(changeSchema(register)) },
    ],
  };
}

function beforeOf(schema: AvroRecord): unknown {
  return schema.fields.find(({ name }) => name === 'before')!.type;
}

/** Returns the first `length` bytes of a hash of `names`, so that every run gets the same bytes for the same names. */
export function namedBytes(length: number, ...names: (string | number)[]): Buffer {
  return createHash('sha256').update(JSON.stringify(names)).digest().subarray(0, length);
}
