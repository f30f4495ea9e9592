import { describe, expect, test } from 'vitest';
import type { ServedRegister, ServedRegisters } from '../../../../api/catalogue.ts';
import type { CellsByRegister } from '../../../../api/queries/record.ts';
import { type SupplierThresholds, supplierRegisters } from '../../../../api/supplier/bars.ts';
import { type CheckInput, supplierCheckOf } from '../../../../api/supplier/check.ts';
import { supplierCheck } from '../../../../schemas/http/supplier.ts';
import type { RegisterName } from '../../../../schemas/registers.ts';
import type { Sanction } from '../../../../schemas/sanctions.ts';
import { servedRegister } from '../../../support/api/served-catalogue.ts';
import { recordOf } from '../../../support/api/taxpayer-records.ts';

const ruc = '20990000019';
const today = '2026-11-26';
const thresholds: SupplierThresholds = {
  required: ['padron_reducido', 'padron_mensual', 'agentes_retencion', 'buenos_contribuyentes', 'sancionados'],
  recentChangeDays: 30,
  recentBarDays: 365,
  maxDataAgeDays: { daily: 3, monthly: 105, lists: 45 },
};

interface Case {
  estado?: string;
  condicion?: string;
  bars?: Partial<Sanction>[];
  courtBars?: Partial<Sanction>[];
  missing?: RegisterName[];
  dates?: Partial<Record<RegisterName, string>>;
  changes?: CheckInput['changes'];
  givenDay?: string;
  cells?: CellsByRegister;
}

function served(name: RegisterName, fechaDato: string): ServedRegister {
  const { edition, source } = servedRegister(name);
  const publishedAt = new Date(`${fechaDato}T08:00:00Z`);
  return {
    edition: { ...edition, fechaDato, publishedAt, materialisedAt: publishedAt, changedAt: publishedAt },
    modifiedAt: null,
    source: { ...source, fecha_dato: fechaDato, publicado_en: '2026-11-26T03:00:00-05:00' },
  };
}

function sanctions(list: Partial<Sanction>[]): readonly string[] {
  const whole = list.map((one) => ({ nombre: 'X', desde: null, hasta: null, resolucion: 'R-1', ...one }));
  return ['ruc', JSON.stringify(whole)];
}

function check({ estado = 'ACTIVO', condicion = 'HABIDO', missing = [], dates = {}, ...given }: Case = {}) {
  const loaded = supplierRegisters.filter((name) => !missing.includes(name));
  const editions: ServedRegisters = Object.fromEntries(
    loaded.map((name) => [name, served(name, dates[name] ?? today)]),
  );
  const cells: CellsByRegister = { ...given.cells };
  if (given.bars) cells.sancionados = sanctions(given.bars);
  if (given.courtBars) cells.inhabilitaciones_judiciales = sanctions(given.courtBars);
  const record = recordOf(`${ruc}|X S.A.C.|${estado}|${condicion}|-|-|-|-|-|-|-|-|-|-|-|`);
  const { changes = [], givenDay = null } = given;
  const made = supplierCheckOf({ editions, cells, record, changes, lists: [], today, givenDay }, thresholds);
  return supplierCheck.parse(made);
}

const warningsIn = (made: ReturnType<typeof check>) =>
  made.advertencias.map(({ codigo, severidad }) => [codigo, severidad]);

test('nothing to say: every part claims it, on its date', () => {
  const made = check();
  expect(made).toMatchObject({
    resultado: 'sin_observaciones',
    agente_retencion: { figura: false, desde: null, resolucion: null, fecha_padron: today },
    contrataciones_estado: { resultado: 'no_figura', evaluado_al: today, sanciones: [] },
    vigilado: { activo: false, listas: [] },
    advertencias: [],
  });
  expect(made.contrataciones_estado.fuentes).toHaveLength(3);
});

test.each([
  ['ACTIVO', 'NO HABIDO', [['no_habido', 'grave']]],
  ['ACTIVO', 'NO HALLADO', [['no_hallado', 'atencion']]],
  ['ACTIVO', 'NO HALLADO SE MUDO D', [['no_hallado', 'atencion']]],
  ['BAJA DE OFICIO', 'HABIDO', [['estado_baja', 'grave']]],
  ['BAJA PROV. POR OFICI', 'HABIDO', [['estado_baja', 'grave']]],
  ['ANULACION - ACTO ILI', 'HABIDO', [['estado_baja', 'grave']]],
  [
    'SUSPENSION TEMPORAL',
    'NO HABIDO',
    [
      ['no_habido', 'grave'],
      ['suspension_temporal', 'atencion'],
    ],
  ],
  // Other conditions make no warning.
  ['ACTIVO', 'PENDIENTE', []],
  ['OTROS OBLIGADOS', 'POR VERIFICAR', []],
] as const)('%s, %s', (estado, condicion, warnings) => {
  const made = check({ estado, condicion });
  expect(warningsIn(made)).toEqual(warnings);
  expect(made.resultado).toBe(warnings.length === 0 ? 'sin_observaciones' : 'con_observaciones');
});

// A missing status is neither clean nor an observation. What else is observed counts all the same.
test.each([
  ['-', 'HABIDO', 'no_determinado'],
  ['ACTIVO', '-', 'no_determinado'],
  ['', '--', 'no_determinado'],
  ['-', 'NO HABIDO', 'con_observaciones'],
  ['BAJA DE OFICIO', '-', 'con_observaciones'],
] as const)('estado %j, condicion %j: %s', (estado, condicion, resultado) => {
  const made = check({ estado, condicion });
  expect(made.resultado).toBe(resultado);
  expect(made.registro).toMatchObject({
    estado: /[A-Z]/.test(estado) ? estado : null,
    condicion: /[A-Z]/.test(condicion) ? condicion : null,
  });
  expect(made.advertencias.length).toBe(resultado === 'no_determinado' ? 0 : 1);
});

describe('lists', () => {
  test('who is listed: since when and by which resolution; a first edition that is being written says nothing', () => {
    const row = ['X S.A.C.', '2023-10-01', 'R.S. 186-2023'];
    const listed = { cells: { agentes_retencion: row, buenos_contribuyentes: ['X', '', ''] } };
    expect(check(listed)).toMatchObject({
      agente_retencion: { figura: true, desde: '2023-10-01', resolucion: 'R.S. 186-2023', fecha_padron: today },
      buen_contribuyente: { figura: true, desde: null, resolucion: null },
    });
    const unloaded = check({ ...listed, missing: ['agentes_retencion'] });
    expect(unloaded.agente_retencion).toEqual({ figura: null, desde: null, resolucion: null, fecha_padron: null });
  });
});

describe('bars', () => {
  const barred = { desde: '2026-01-10', hasta: '2026-11-26' };

  test('in force on its last day, with its term; over on the next', () => {
    const made = check({ bars: [{ ...barred, motivo: 'TEXTO' }] });
    expect(warningsIn(made)).toEqual([['inhabilitado_vigente', 'grave']]);
    expect(made.contrataciones_estado).toMatchObject({
      resultado: 'inhabilitado',
      sanciones: [
        { ...barred, definitiva: false, vigente: true, resolucion: 'R-1', motivo: 'TEXTO', fuente: 'sancionados' },
      ],
    });
    const next = check({ bars: [{ ...barred, hasta: '2026-11-25' }] });
    expect(warningsIn(next)).toEqual([['inhabilitacion_reciente', 'atencion']]);
    expect(next.contrataciones_estado.resultado).toBe('sin_sancion_vigente');
  });

  // An annulled bar ends before it starts, and a definitive one has no end.
  test('an annulled bar was never in force; a definitive one is without end; a future one is not yet', () => {
    const annulled = check({ bars: [{ desde: '2026-05-02', hasta: '2026-05-01' }] });
    expect([annulled.contrataciones_estado.resultado, warningsIn(annulled)]).toEqual(['sin_sancion_vigente', []]);
    const definitive = check({ bars: [{ desde: '1999-01-01', hasta: null }] });
    expect(definitive.contrataciones_estado.sanciones[0]).toMatchObject({ definitiva: true, vigente: true });
    expect(definitive.advertencias[0]!.mensaje).toContain('sin fecha de fin');
    const future = check({ bars: [{ desde: '2026-12-01', hasta: '2027-12-01' }] });
    expect([future.contrataciones_estado.resultado, future.resultado]).toEqual([
      'sin_sancion_vigente',
      'sin_observaciones',
    ]);
  });

  test('a day that was given judges the bars; one in force today is reported too', () => {
    const old = { desde: '2024-01-01', hasta: '2024-12-31' };
    const made = check({ bars: [old], givenDay: '2024-06-01' });
    expect(warningsIn(made)).toEqual([['inhabilitado_en_fecha', 'grave']]);
    expect(made.contrataciones_estado).toMatchObject({ resultado: 'inhabilitado', evaluado_al: '2024-06-01' });
    const both = check({ bars: [old, barred], givenDay: '2024-06-01' });
    expect(warningsIn(both)).toEqual([
      ['inhabilitado_vigente', 'grave'],
      ['inhabilitado_en_fecha', 'grave'],
    ]);
    // The bar is in force today, but not on that day.
    expect(check({ bars: [barred], givenDay: '2025-01-01' }).contrataciones_estado.resultado).toBe(
      'sin_sancion_vigente',
    );
  });

  test('over for longer than the threshold is not reported; while another bar is in force neither', () => {
    expect(warningsIn(check({ bars: [{ desde: '2024-01-01', hasta: '2025-11-25' }] }))).toEqual([]);
    expect(warningsIn(check({ bars: [{ desde: '2024-01-01', hasta: '2025-11-26' }] }))).toHaveLength(1);
    const both = check({ bars: [{ desde: '2024-01-01', hasta: '2026-11-01' }], courtBars: [barred] });
    expect(warningsIn(both)).toEqual([['inhabilitado_vigente', 'grave']]);
  });

  test('bars of all registers of the RUC count, the latest first; a court is named as the reason', () => {
    const made = check({
      bars: [{ desde: '2020-01-01', hasta: '2020-12-31' }],
      courtBars: [{ ...barred, organo: 'JUZGADO 1' }],
    });
    expect(made.contrataciones_estado.sanciones.map(({ fuente, motivo }) => [fuente, motivo])).toEqual([
      ['inhabilitaciones_judiciales', 'Mandato judicial: JUZGADO 1'],
      ['sancionados', null],
    ]);
  });
});

// A missing source must never read as "no".
describe('not determined', () => {
  test('a required source that was never loaded: neither yes nor no, and which one it is', () => {
    const made = check({ missing: ['sancionados'] });
    expect([made.resultado, made.contrataciones_estado.resultado]).toEqual(['no_determinado', 'no_determinado']);
    expect(warningsIn(made)).toEqual([['fuente_no_cargada', 'info']]);
    expect(check({ missing: ['padron_mensual'] })).toMatchObject({
      resultado: 'no_determinado',
      contrataciones_estado: { resultado: 'no_figura' },
    });
  });

  test('a source that is not required is reported and changes nothing', () => {
    const made = check({ missing: ['inhabilitaciones_judiciales', 'inhabilitaciones_administrativas'] });
    expect([made.resultado, made.contrataciones_estado.resultado]).toEqual(['sin_observaciones', 'no_figura']);
    expect(warningsIn(made)).toEqual([
      ['fuente_no_cargada', 'info'],
      ['fuente_no_cargada', 'info'],
    ]);
  });

  test('what is known against the supplier stays known without the rest', () => {
    const made = check({ condicion: 'NO HABIDO', missing: ['sancionados'], courtBars: [{ desde: '2026-01-01' }] });
    expect([made.resultado, made.contrataciones_estado.resultado]).toEqual(['con_observaciones', 'inhabilitado']);
  });

  test('a bar whose days cannot be read decides nothing', () => {
    const made = check({ bars: [{ desde: '20/13/2026', hasta: null }] });
    expect([made.resultado, made.contrataciones_estado.resultado]).toEqual(['no_determinado', 'no_determinado']);
    expect(made.contrataciones_estado.sanciones[0]!.vigente).toBeNull();
  });
});

// Late data must not look fresh.
test('late data are reported by register; only those of a required one are an observation', () => {
  const made = check({ dates: { padron_reducido: '2026-11-22', inhabilitaciones_judiciales: '2026-01-01' } });
  expect(warningsIn(made)).toEqual([
    ['dato_atrasado', 'atencion'],
    ['dato_atrasado', 'info'],
  ]);
  expect(made.advertencias[0]!.mensaje).toContain('tienen 4 días, más de los 3 previstos');
  expect(warningsIn(check({ dates: { padron_reducido: '2026-11-23', padron_mensual: '2026-09-01' } }))).toEqual([]);
});

test('recent changes: of state an observation, of name and presence to be known', () => {
  const changes = [
    { fechaDato: '2026-11-20', campo: 'estado', antes: 'BAJA DE OFICIO', despues: 'ACTIVO' },
    { fechaDato: '2026-11-19', campo: 'nombre', antes: 'A', despues: 'B' },
    { fechaDato: '2026-11-18', campo: 'ruc', antes: null, despues: ruc },
  ] as const;
  const made = check({ changes });
  expect(warningsIn(made)).toEqual([
    ['cambio_reciente', 'atencion'],
    ['cambio_reciente', 'info'],
    ['cambio_reciente', 'info'],
  ]);
  expect(made.advertencias[0]!.mensaje).toContain('antes «BAJA DE OFICIO», ahora «ACTIVO»');
});
