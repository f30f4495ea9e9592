import { expect, test } from 'vitest';
import { inOrder, pageOf } from '../../../../api/queries/history.ts';
import { entriesOf, type HistoryChange } from '../../../../api/queries/history-entries.ts';
import type { ChangeKey } from '../../../../api/queries/register-changes.ts';
import type { EditionFacts } from '../../../../pipelines/editions/editions.ts';
import { padronReducido, type RegisterName, registers } from '../../../../schemas/registers.ts';
import { monthlyCells } from '../../../support/api/taxpayer-records.ts';

const ruc = '20990000019';

function daily(given: Record<string, string>): string[] {
  const plain: Record<string, string> = { nombre: 'UNO S.A.C.', estado: 'ACTIVO', condicion: 'HABIDO' };
  return padronReducido.columns.map(({ name }) => given[name] ?? plain[name] ?? '-');
}

function told(register: RegisterName, change: Partial<HistoryChange>) {
  const { before = null, after = null } = change;
  const operation = before === null ? 'c' : after === null ? 'd' : 'u';
  const entries = entriesOf(ruc, { register, edition: 2, operation, before, after, lastKnown: null, ...change });
  return entries.map(({ operacion, campo, antes, despues }) => [operacion, campo, antes, despues]);
}

test('one entry per field, with the texts of the look-up; an empty cell was nothing', () => {
  const before = daily({ estado: 'ACTIVO', condicion: '', nombre_via: 'UNO', tipo_via: 'JR.' });
  const after = daily({ estado: 'SUSPENSION TEMPORAL', ubigeo: '150122', nombre_via: 'UNO', tipo_via: 'AV.' });
  expect(told('padron_reducido', { before, after })).toEqual([
    ['cambio', 'estado', 'ACTIVO', 'SUSPENSIÓN TEMPORAL'],
    ['cambio', 'condicion', null, 'HABIDO'],
    ['cambio', 'ubigeo', null, '150122'],
    ['cambio', 'direccion', 'JR. UNO', 'AV. UNO'],
  ]);
});

// A change must not read "A changed to A".
test('a change that nobody would see is no entry', () => {
  expect(told('padron_reducido', { before: daily({ lote: '-' }), after: daily({ lote: '----' }) })).toEqual([]);
  const dashes = { before: daily({ estado: '-', condicion: '--' }), after: daily({ estado: '', condicion: '-' }) };
  expect(told('padron_reducido', dashes)).toEqual([]);
  const monthly = { before: monthlyCells({ estado: '-' }), after: monthlyCells({ condicion: '--' }) };
  expect(told('padron_mensual', monthly)).toEqual([]);
});

test('a dash in estado or condicion is no value', () => {
  const before = daily({ estado: '-' });
  const after = daily({ condicion: '--' });
  expect(told('padron_reducido', { before, after })).toEqual([
    ['cambio', 'estado', null, 'ACTIVO'],
    ['cambio', 'condicion', 'HABIDO', null],
  ]);
});

// A history shows who left a register and who returned.
test('coming and going are one entry; of one that comes back, also what is not as it was', () => {
  const after = daily({ nombre: 'DOS S.A.C.' });
  expect(told('padron_reducido', { after })).toEqual([['alta', 'ruc', null, ruc]]);
  expect(told('padron_reducido', { before: after })).toEqual([['baja', 'ruc', ruc, null]]);
  expect(told('padron_reducido', { after, lastKnown: daily({}) })).toEqual([
    ['alta', 'ruc', null, ruc],
    ['cambio', 'nombre', 'UNO S.A.C.', 'DOS S.A.C.'],
  ]);
});

test('the monthly register: fields of the record by their names there, other columns by their own', () => {
  const before = monthlyCells({ tipo: 'ASOCIACION', ciiu3_principal: 'VENTA', nro_trabajadores: '0' });
  const after = monthlyCells({ tipo: 'ASOCIACION', ciiu4_principal: 'COMPRA', tipo_contabilidad: 'MANUAL' });
  expect(told('padron_mensual', { before, after })).toEqual([
    ['cambio', 'actividad_economica', 'VENTA', 'COMPRA'],
    ['cambio', 'nro_trabajadores', 0, null],
    ['cambio', 'ciiu3_principal', 'VENTA', null],
    ['cambio', 'tipo_contabilidad', null, 'MANUAL'],
  ]);
});

test('lists: the flag of the record, then the columns of the list', () => {
  const row = ['UNO S.A.C.', '2023-10-01', 'RS 1'];
  expect(told('agentes_retencion', { after: row })).toEqual([['alta', 'es_agente_retencion', false, true]]);
  expect(told('buenos_contribuyentes', { before: row })).toEqual([['baja', 'es_buen_contribuyente', true, false]]);
  expect(told('agentes_retencion', { before: row, after: ['UNO S.A.C.', '2023-10-01', 'RS 2'] })).toEqual([
    ['cambio', 'resolucion', 'RS 1', 'RS 2'],
  ]);
});

test('bars: the sanctions themselves', () => {
  const [one, two] = ['RES 1', 'RES 2'].map((resolucion) => ({
    nombre: 'UNO S.A.C.',
    desde: '2026-01-01',
    hasta: null,
    resolucion,
  }));
  const cells = (...sanctions: unknown[]) => ['RUC', JSON.stringify(sanctions)];
  expect(told('sancionados', { after: cells(one) })).toEqual([['alta', 'sanciones', null, [one]]]);
  expect(told('inhabilitaciones_judiciales', { before: cells(one) })).toEqual([['baja', 'sanciones', [one], null]]);
  expect(told('inhabilitaciones_administrativas', { before: cells(one), after: cells(one, two) })).toEqual([
    ['cambio', 'sanciones', [one], [one, two]],
  ]);
});

const facts = (register: RegisterName, number: number): EditionFacts => ({
  register,
  number,
  // Editions 4 and 5 of the register have the same day.
  fechaDato: `2026-01-0${Math.min(number, 4)}`,
  corrects: null,
  columns: registers[register].columns.map(({ name }) => name),
  isFull: false,
});
const keys: ChangeKey[] = [
  { register: 'padron_reducido', edition: 3, operation: 'u' },
  { register: 'agentes_retencion', edition: 4, operation: 'c' },
  { register: 'padron_reducido', edition: 5, operation: 'c' },
  { register: 'padron_reducido', edition: 4, operation: 'd' },
];

test('newest first: by day, register and edition; what comes back knows when it left', () => {
  const ordered = inOrder(keys, facts).map(({ register, edition, left }) => [register, edition, left?.edition ?? null]);
  expect(ordered).toEqual([
    ['padron_reducido', 5, 4],
    ['padron_reducido', 4, null],
    ['agentes_retencion', 4, null],
    ['padron_reducido', 3, null],
  ]);
});

test('a page may end inside a change, and goes on there; a change that went away is no shorter page', async () => {
  const [one, two] = [daily({}), daily({ nombre: 'DOS', estado: 'BAJA DE OFICIO', condicion: 'NO HABIDO' })];
  const stored = [{ ...keys[0]!, before: one, after: two, corrects: null }];
  const past = { on: async () => ({}), firstDay: async () => null, facts: async () => facts };
  const page = (after: Parameters<typeof pageOf>[2]['after'], rows = stored) =>
    pageOf(ruc, inOrder([keys[0]!], facts), { after, maxEntries: 2 }, { read: async () => rows, past });
  const first = await page(null);
  expect(first.entries.map(({ campo }) => campo)).toEqual(['nombre', 'estado']);
  const second = await page(first.next);
  expect([second.entries.map(({ campo }) => campo), second.next]).toEqual([['condicion'], null]);
  await expect(page(null, [])).rejects.toMatchObject({ code: 'servicio_no_disponible' });
});
