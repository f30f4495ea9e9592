import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RegisterModule, SmallText } from '../../../../pipelines/registers/module.ts';
import { registerModules } from '../../../../pipelines/registers/modules.ts';
import { cutDate } from '../../../../pipelines/registers/supplier-bars.ts';
import { sanctionsOf } from '../../../../schemas/sanctions.ts';
import { joinLines } from '../../../support/registers/lines.ts';

const tribunal =
  'FECHA_CORTE|RUC|NOMBRE_RAZONODENOMINACIONSOCIAL|FECHA_INICIO|FECHA_FIN|NUMERO_RESOLUCION|ID_MOTIVO_INFRACCION|DE_MOTIVO_INFRACCION';
const judicial =
  'FECHA_CORTE|RUC_DNI|NOMBRE_RAZONODENOMINACIONSOCIAL|ORGANO_JURISDICCIONAL|NUMERO_RESOLUCION|FECHA_INICIO|FECHA_FIN';
const judicialExport =
  'RUC/DNI|RazonSocial/Nombre|NumeroResolucion|OrganoJurisdiccional|Periodo|FechaInicioInhabilitacion|FechaFinInhabilitacion';
const one =
  '20260404|20990000019|COMERCIAL PRUEBA UNO S.A.C.|20250115|20260415|0001-2025-TCE-S1|214,215,|TEXTO DE PRUEBA';

function read(lines: readonly string[], module: RegisterModule = registerModules.sancionados): SmallText {
  if (module.format.size !== 'small') throw new Error('bars are small');
  return module.format.read(Buffer.from(joinLines(lines, '\r\n')));
}
const rowOf = (id: string, lines: readonly string[], module?: RegisterModule) => {
  const cells = read(lines, module).rows.get(id)?.cells;
  return cells && { tipo_id: cells[0], sanciones: sanctionsOf(cells[1]!) };
};
const listed = (lines: readonly string[]) => read(lines).listed.map(({ line, reason, key }) => ({ line, reason, key }));

describe('a file of bars', () => {
  it('has one row per supplier, with its sanctions in an order of their own and their keys in a fixed one', () => {
    const later = one.replace('20250115|20260415|0001-2025-TCE-S1', '20260101||0009-2026-TCE-S1');
    const earlier = one.replace('20250115|20260415|0001', '19930301|19930401|0000');
    const text = read([tribunal, later, one, earlier]);
    expect(text).toMatchObject({ lines: 3, listed: [] });
    expect([...text.rows.keys()]).toEqual(['20990000019']);
    expect(text.rows.get('20990000019')!.line).toBe(4);
    expect(rowOf('20990000019', [tribunal, later, one, earlier])).toEqual({
      tipo_id: 'ruc',
      sanciones: [
        expect.objectContaining({ desde: '1993-03-01', hasta: '1993-04-01', resolucion: '0000-2025-TCE-S1' }),
        {
          nombre: 'COMERCIAL PRUEBA UNO S.A.C.',
          desde: '2025-01-15',
          hasta: '2026-04-15',
          resolucion: '0001-2025-TCE-S1',
          motivos: ['214', '215'],
          motivo: 'TEXTO DE PRUEBA',
        },
        expect.objectContaining({ desde: '2026-01-01', hasta: null }),
      ],
    });
    expect(
      text.rows
        .get('20990000019')!
        .cells[1]!.split('"')
        .filter((_, at) => at % 2 === 1)
        .slice(0, 9),
    ).toEqual(
      'nombre,COMERCIAL PRUEBA UNO S.A.C.,desde,1993-03-01,hasta,1993-04-01,resolucion,0000-2025-TCE-S1,motivos'.split(
        ',',
      ),
    );
  });

  it('gives the same row whatever the order of its lines', () => {
    const lines = Array.from({ length: 6 }, (_, at) =>
      one.replace('0001', `000${at % 3}`).replace('TEXTO', `TEXTO ${at}`),
    );
    const expected = read([tribunal, ...lines]).rows.get('20990000019')!.cells;
    fc.assert(
      fc.property(fc.shuffledSubarray(lines, { minLength: 6 }), (shuffled) => {
        expect(read([tribunal, ...shuffled]).rows.get('20990000019')!.cells).toEqual(expected);
      }),
      { numRuns: 30 },
    );
  });

  it('counts a row that is there twice once and lists it; another motive is another sanction', () => {
    const otherMotive = one.replace('TEXTO DE PRUEBA', 'OTRO TEXTO');
    const lines = [tribunal, one, otherMotive, one];
    expect(rowOf('20990000019', lines)!.sanciones.map(({ motivo }) => motivo)).toEqual([
      'OTRO TEXTO',
      'TEXTO DE PRUEBA',
    ]);
    expect(read(lines)).toMatchObject({ lines: 3, rows: { size: 1 } });
    expect(listed(lines)).toEqual([{ line: 4, reason: 'duplicate', key: null }]);
  });

  it('keeps one resolution against several suppliers with each of them', () => {
    const partner = one.replace('20990000019', '20990000027');
    expect([...read([tribunal, one, partner]).rows.keys()]).toEqual(['20990000019', '20990000027']);
  });

  it.each([
    ['20990000019', 'ruc'],
    ['99000000123', 'codigo_extranjero'],
    ['88000000123', 'codigo_extranjero'],
    ['20990000018', 'ruc_no_valido'],
    ['0123456789', 'documento'],
    ['A-77', 'documento'],
  ])('says what the id %s is, and neither pads nor repairs it', (id, kind) => {
    expect(rowOf(id, [tribunal, one.replace('20990000019', ` ${id} `)])?.tipo_id).toBe(kind);
  });

  it('reads no date where the source writes none, keeps an end before the start, and text that is no day', () => {
    const dates = (from: string, to: string) => {
      const [sanction] = rowOf('20990000019', [tribunal, one.replace('20250115|20260415', `${from}|${to}`)])!.sanciones;
      return [sanction!.desde, sanction!.hasta];
    };
    expect(dates('20250115', '00000000')).toEqual(['2025-01-15', null]);
    expect(dates('20250115', '')).toEqual(['2025-01-15', null]);
    expect(dates('20250115', '20250114')).toEqual(['2025-01-15', '2025-01-14']);
    expect(dates('20250132', 'HASTA NUEVA ORDEN')).toEqual(['20250132', 'HASTA NUEVA ORDEN']);
  });

  it('reads no-break spaces as spaces, quotes as data, control bytes as spaces, and long texts whole', () => {
    const motive = `INFORMACIÓN\u00a0INEXACTA – "SIN CIERRE\u0000${' Y MÁS'.repeat(150)}`;
    const lines = [tribunal, one.replace('TEXTO DE PRUEBA', motive)];
    const expected = motive.replace('\u00a0', ' ').replace('\u0000', ' ');
    expect(rowOf('20990000019', lines)!.sanciones[0]!.motivo).toBe(expected);
    expect(listed(lines)).toEqual([{ line: 2, reason: 'control_byte', key: null }]);
  });

  it('lists rows of another cut-off date and keeps them', () => {
    const lines = [tribunal, one, one.replace('20260404|20990000019', '20260403|20990000027')];
    expect(read(lines).rows.size).toBe(2);
    expect(listed(lines)).toEqual([{ line: 3, reason: 'other_cut', key: null }]);
  });

  it('has no row where a line has other cells, no id or too long a one; the id is named where it can be', () => {
    const lines = [
      tribunal,
      `${one}|MÁS`,
      one.replace('20990000019', ' '),
      one.replace('20990000019', 'Ñ'.repeat(21)),
      '20260404',
    ];
    expect(read(lines).rows.size).toBe(0);
    expect(listed(lines)).toEqual([
      { line: 2, reason: 'cell_count', key: '20990000019' },
      { line: 3, reason: 'id_format', key: null },
      { line: 4, reason: 'id_format', key: null },
      { line: 5, reason: 'cell_count', key: null },
    ]);
    expect(rowOf('Ñ'.repeat(20), [tribunal, one.replace('20990000019', 'Ñ'.repeat(20))])?.tipo_id).toBe('documento');
  });
});

describe('judicial bars', () => {
  const expected = {
    tipo_id: 'documento',
    sanciones: [
      {
        nombre: 'PERSONA DE PRUEBA',
        desde: '2024-02-01',
        hasta: '2026-02-01',
        resolucion: 'EXP. 12-2024',
        organo: 'JUZGADO DE PRUEBA',
      },
    ],
  };

  it('read in both known spellings, national ids as ids', () => {
    const row = '20260404|99123456|PERSONA DE PRUEBA|JUZGADO DE PRUEBA|EXP. 12-2024|20240201|20260201';
    expect(rowOf('99123456', [judicial, row], registerModules.inhabilitaciones_judiciales)).toEqual(expected);
    const other = '99123456|PERSONA DE PRUEBA|EXP. 12-2024|JUZGADO DE PRUEBA|2 AÑOS|01/02/2024|01/02/2026';
    expect(rowOf('99123456', [judicialExport, other], registerModules.inhabilitaciones_judiciales)).toEqual(expected);
  });

  it('are not what the file of sanctions may hold, and the other way round', () => {
    const changed = { code: 'header_changed' };
    expect(() => read([judicial])).toThrow(expect.objectContaining(changed));
    expect(() => read([tribunal], registerModules.inhabilitaciones_judiciales)).toThrow(
      expect.objectContaining(changed),
    );
    expect(() => read([`${tribunal}|MONTO`])).toThrow(expect.objectContaining(changed));
  });
});

it('reads administrative bars under any known header', () => {
  const rows = [
    [tribunal, one],
    [judicial, '20260404|20990000019|A|JUZGADO|EXP. 1|20250101|'],
    [judicialExport, '20990000019|A|EXP. 1|JUZGADO|2 AÑOS|01/01/2025|'],
  ] as const;
  for (const lines of rows) {
    expect(rowOf('20990000019', lines, registerModules.inhabilitaciones_administrativas)?.sanciones).toHaveLength(1);
  }
  expect(() => read(['RUC|NOMBRE'], registerModules.inhabilitaciones_administrativas)).toThrow(
    'The header changed: it has 2 cells, expected 8 or 7.',
  );
});

describe('the cut-off date', () => {
  const now = new Date('2026-04-05T15:00:00Z');
  const dateOf = (lines: readonly string[]) => cutDate(Buffer.from(joinLines(lines, '\r\n')), now);

  // The file says its day, whatever the site says
  it('is that of the first row', () => {
    expect(dateOf([tribunal, one, one.replace('20260404', '20260401')])).toBe('2026-04-04');
    expect(dateOf([judicial, '20260101|1|A|B|C|20250101|'])).toBe('2026-01-01');
  });

  it('is none without the column, without a row, as no day, and as a day to come', () => {
    expect(dateOf([judicialExport, '1|A|B|C|D|01/01/2025|'])).toBeNull();
    expect(dateOf([tribunal])).toBeNull();
    expect(dateOf([])).toBeNull();
    expect(dateOf([tribunal, one.replace('20260404', '20260231')])).toBeNull();
    expect(dateOf([tribunal, one.replace('20260404', '20260406')])).toBeNull();
  });
});
