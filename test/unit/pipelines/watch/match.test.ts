import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change, Row } from '../../../../pipelines/changes/record.ts';
import { eventsOf, makesEvents } from '../../../../pipelines/watch/match.ts';
import { padronReducido, type Register, registerNames, registers } from '../../../../schemas/registers.ts';

const row = (cells: Record<string, string> = {}): Row => ({
  ...Object.fromEntries(padronReducido.columns.map(({ name }) => [name, '-'])),
  nombre: 'EMPRESA DE PRUEBA S.A.C.',
  estado: 'ACTIVO',
  condicion: 'HABIDO',
  ...cells,
});
const change = (parts: Partial<Change>): Change => ({
  edition: 2,
  op: 'u',
  seq: 0,
  ruc: '20990000019',
  before: row(),
  after: row(),
  line: 2,
  detectedAt: new Date(0),
  corrects: null,
  ...parts,
});
const events = (parts: Partial<Change>, lastKnown: Row | null = null) =>
  eventsOf(padronReducido, change(parts), lastKnown);

describe('events of a change', () => {
  it('are alta and baja without field events beside them', () => {
    expect(events({ op: 'c', before: null })).toEqual([
      { evento: 'ruc.alta', campo: 'ruc', antes: null, despues: '20990000019' },
    ]);
    expect(events({ op: 'd', after: null })).toEqual([
      { evento: 'ruc.baja', campo: 'ruc', antes: '20990000019', despues: null },
    ]);
  });

  it('include a status that becomes BAJA as a change of status, with the texts that people read', () => {
    expect(events({ after: row({ estado: 'BAJA DE OFICIO' }) })).toEqual([
      { evento: 'ruc.estado_cambiado', campo: 'estado', antes: 'ACTIVO', despues: 'BAJA DE OFICIO' },
    ]);
    expect(events({ before: row({ estado: 'SUSPENSION TEMPORAL' }) })[0]).toMatchObject({
      antes: 'SUSPENSIÓN TEMPORAL',
    });
    expect(events({ after: row({ condicion: 'NO HALLADO SE MUDO D' }) })[0]).toMatchObject({
      evento: 'ruc.condicion_cambiada',
      despues: 'NO HALLADO SE MUDÓ DE DOMICILIO',
    });
  });

  it('have no previous value when an empty column is filled for the first time', () => {
    for (const condicion of ['', ' ', '-', '--'])
      expect(events({ before: row({ condicion }) })).toEqual([
        { evento: 'ruc.condicion_cambiada', campo: 'condicion', antes: null, despues: 'HABIDO' },
      ]);
    expect(events({ after: row({ estado: '-' }) })).toEqual([
      { evento: 'ruc.estado_cambiado', campo: 'estado', antes: 'ACTIVO', despues: null },
    ]);
  });

  it('are none when look-ups show the same value as before', () => {
    const marks = ['', '-', '--', '----'];
    for (const estado of marks)
      for (const condicion of marks)
        expect(
          events({ before: row({ estado, condicion }), after: row({ estado: '-', condicion: '' }) }),
          `${estado}, ${condicion}`,
        ).toEqual([]);
    // The register may write an accent or widen its column one day.
    const before = row({ estado: 'SUSPENSION TEMPORAL', condicion: 'NO HALLADO SE MUDO D' });
    const after = row({ estado: 'SUSPENSIÓN TEMPORAL', condicion: 'NO HALLADO SE MUDO DE DOMICILIO' });
    expect(events({ before, after })).toEqual([]);
    // A company that left with a dash and returns with nothing.
    const returned = events({ op: 'c', before: null, after: row({ estado: '' }) }, row({ estado: '-' }));
    expect(returned.map(({ evento }) => evento)).toEqual(['ruc.alta']);
  });

  it('of a RUC that returns include what differs from its last row', () => {
    const lastKnown = row({ nombre: 'NOMBRE ANTERIOR S.A.', ubigeo: '150101' });
    expect(events({ op: 'c', before: null }, lastKnown).map(({ evento }) => evento)).toEqual([
      'ruc.alta',
      'ruc.nombre_cambiado',
    ]);
    expect(events({ op: 'c', before: null }, row())).toHaveLength(1);
  });

  it('of a list of taxpayers have a field that is true while the RUC is on the list', () => {
    const listed = { nombre: 'EMPRESA', desde: '2026-01-01', resolucion: 'R.S. 1' };
    const listEvents = (register: Register, parts: Partial<Change>) => eventsOf(register, change(parts), listed);
    expect(listEvents(registers.agentes_retencion, { op: 'c', before: null, after: listed })).toEqual([
      { evento: 'ruc.agente_retencion_cambiado', campo: 'es_agente_retencion', antes: false, despues: true },
    ]);
    // An agent that was excluded yesterday is no agent today.
    expect(listEvents(registers.agentes_retencion, { op: 'd', before: listed, after: null })).toEqual([
      { evento: 'ruc.agente_retencion_cambiado', campo: 'es_agente_retencion', antes: true, despues: false },
    ]);
    expect(listEvents(registers.buenos_contribuyentes, { op: 'c', before: null, after: listed })).toEqual([
      { evento: 'ruc.buen_contribuyente_cambiado', campo: 'es_buen_contribuyente', antes: false, despues: true },
    ]);
    expect(
      listEvents(registers.agentes_retencion, { before: listed, after: { ...listed, resolucion: 'R.S. 2' } }),
    ).toEqual([]);
    expect(listEvents(registers.agentes_retencion, { op: 'r', before: null, after: listed })).toEqual([]);
    expect(
      listEvents(registers.agentes_retencion, { op: 'c', ruc: '10458741239', before: null, after: listed }),
    ).toEqual([]);
  });

  it('are none for four registers', () => {
    expect(registerNames.filter((name) => makesEvents(registers[name]))).toEqual([
      'padron_reducido',
      'agentes_retencion',
      'buenos_contribuyentes',
    ]);
    const cells = { tipo_id: 'ruc', sanciones: '[]' };
    for (const [op, before, after] of [
      ['c', null, cells],
      ['d', cells, null],
      ['u', cells, { ...cells, sanciones: '[1]' }],
    ] as const) {
      expect(eventsOf(registers.sancionados, change({ op, before, after }), null)).toEqual([]);
    }
  });

  it('are none for baselines and natural persons, whatever changed', () => {
    expect(events({ op: 'r', before: null })).toEqual([]);
    for (const ruc of ['10458741239', '15458741239', '17458741239']) {
      expect(events({ ruc, after: row({ nombre: 'OTRO' }) })).toEqual([]);
      expect(events({ ruc, op: 'd', after: null })).toEqual([]);
    }
  });
});

// States the rule a second time and independently, for every pair of rows.
const order = ['estado', 'condicion', 'nombre'] as const;
const cell = fc.constantFrom(
  '',
  '-',
  'ACTIVO',
  ' ACTIVO',
  'ACTIVO  ',
  'HABIDO',
  'A  B',
  'A B',
  'A\u00a0B',
  'É',
  'E\u0301',
  'BAJA DEFINITIVA',
);
const anyRow = fc.record(Object.fromEntries(padronReducido.columns.map(({ name }) => [name, cell])));

it('there is one event per watched column whose text differs, in the order estado, condicion, nombre', () => {
  const plain = (column: string, cell: string) => {
    const text = cell
      .split(/\s+/)
      .filter((word) => word !== '')
      .join(' ')
      .normalize('NFC');
    return column !== 'nombre' && text === '-' ? '' : text;
  };
  fc.assert(
    fc.property(anyRow, anyRow, (before, after) => {
      const expected = order.filter((column) => plain(column, before[column]!) !== plain(column, after[column]!));
      expect(events({ before, after }).map(({ campo }) => campo)).toEqual(expected);
    }),
  );
});
