import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type AvroField, rowFields } from '../../schemas/avro/columns.ts';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import { changeFields, operations } from './record-bytes.ts';

interface AvroRecord {
  fields: AvroField[];
}

/** The schema of a register's changes; refuses one that the hand encoder does not write. */
export function changeSchema(register: RegisterName): AvroRecord {
  const path = new URL(`../../schemas/avro/${register}.avsc`, import.meta.url);
  const schema = JSON.parse(readFileSync(path, 'utf8')) as AvroRecord;
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

/** A row in which the edition's state differs from its publication, and why. No row: the state lacks what the publication has. */
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

/** The nullable row, spelt out. */
function beforeOf(schema: AvroRecord): unknown {
  return schema.fields.find(({ name }) => name === 'before')!.type;
}

/** The first bytes of a hash over what names a thing: the same thing gets the same bytes on every run. */
export function namedBytes(length: number, ...names: (string | number)[]): Buffer {
  return createHash('sha256').update(JSON.stringify(names)).digest().subarray(0, length);
}
