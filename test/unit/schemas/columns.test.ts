import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { checkColumns } from '../../../pipelines/stream/prepare.ts';
import { changeSchemaOf } from '../../../schemas/avro/change-schema.ts';
import { addColumns, agree, rowFields } from '../../../schemas/avro/columns.ts';
import { type RegisterName, registerNames, registers } from '../../../schemas/registers.ts';

const list = ['nombre', 'desde', 'resolucion'];
const bars = ['tipo_id', 'sanciones'];
/** The columns of the first release. Installations keep its rows for ever, so nothing here is ever changed. */
const firstColumns: Record<RegisterName, readonly string[]> = {
  padron_reducido: [
    ...['nombre', 'estado', 'condicion', 'ubigeo', 'tipo_via', 'nombre_via', 'tipo_zona', 'nombre_zona'],
    ...['numero', 'interior', 'lote', 'dpto', 'manzana', 'kilometro'],
  ],
  padron_mensual: [
    ...['estado', 'condicion', 'tipo', 'ciiu3_principal', 'ciiu3_secundaria', 'ciiu4_principal', 'nro_trabajadores'],
    ...[
      'tipo_facturacion',
      'tipo_contabilidad',
      'comercio_exterior',
      'ubigeo',
      'departamento',
      'provincia',
      'distrito',
    ],
  ],
  agentes_retencion: list,
  buenos_contribuyentes: list,
  sancionados: bars,
  inhabilitaciones_judiciales: bars,
  inhabilitaciones_administrativas: bars,
};
const columnsOf = (register: RegisterName) => registers[register].columns.map(({ name }) => name);
const fieldsOf = (register: RegisterName) =>
  rowFields(JSON.parse(readFileSync(`schemas/avro/${register}.avsc`, 'utf8')));

describe.each(registerNames)('%s', (register) => {
  const first = firstColumns[register];

  it('has the columns of the first release in their places, and others only after them', () => {
    expect(columnsOf(register).slice(0, first.length)).toEqual(first);
  });

  it('has an Avro schema with the same columns, each later one empty where a record lacks it', () => {
    const fields = fieldsOf(register);
    expect(fields.map(({ name }) => name)).toEqual(columnsOf(register));
    for (const { default: absent } of fields.slice(first.length)) expect(absent).toBe('');
  });
});

test('columns agree when one list continues the other', () => {
  expect(agree([], list)).toBe(true);
  expect(agree(list, list.slice(0, 2))).toBe(true);
  expect(agree(list, ['nombre', 'resolucion', 'desde'])).toBe(false);
  expect(agree(list, ['correo', ...list])).toBe(false);
});

test('a new column goes to the end of the row, with a default; anything else is refused and changes nothing', () => {
  const schema = changeSchemaOf(registers.agentes_retencion);
  for (const moved of [['correo', ...list], list.slice(0, 2), ['nombre', 'fecha', 'resolucion']]) {
    expect(addColumns(schema, moved)).toBe(false);
  }
  expect(schema).toEqual(changeSchemaOf(registers.agentes_retencion));
  expect(addColumns(schema, [...list, 'correo'])).toBe(true);
  expect(rowFields(schema).slice(2)).toEqual([
    { name: 'resolucion', type: 'string' },
    { name: 'correo', type: 'string', default: '' },
  ]);
});

test('a release does not start when stored rows have its columns at other places', () => {
  const archived = [{ id: 7, schema: JSON.stringify(changeSchemaOf(registers.agentes_retencion)) }];
  checkColumns('agentes_retencion', list, archived);
  checkColumns('agentes_retencion', [...list, 'correo'], archived);
  // An older release starts after a newer one has stored rows.
  checkColumns('agentes_retencion', list.slice(0, 2), archived);
  for (const moved of [
    ['nombre', 'correo', 'desde', 'resolucion'],
    ['nombre', 'resolucion'],
  ]) {
    expect(() => checkColumns('agentes_retencion', moved, archived)).toThrow(
      expect.objectContaining({
        code: 'columns_moved',
        message: expect.stringMatching(/schema 7.*only added at the end/s),
      }),
    );
  }
});
