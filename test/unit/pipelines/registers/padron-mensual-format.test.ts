import { describe, expect, it } from 'vitest';
import { padronMensualFormat, padronMensualModule } from '../../../../pipelines/registers/padron-mensual.ts';
import { padronMensual } from '../../../../schemas/registers.ts';

const names = [
  ...['RUC', 'Estado', 'Condicion', 'Tipo', 'Actividad_Economica_CIIU_revision3_Principal'],
  ...['Actividad_Economica_CIIU_revision3_Secundaria', 'Actividad_Economica_CIIU_revision4_Principal', 'NroTrab'],
  ...['TipoFacturacion', 'TipoContabilidad', 'ComercioExterior', 'UBIGEO', 'Departamento', 'Provincia', 'Distrito'],
  'PERIODO_PUBLICACION',
];
const row = (period: string, end = '\n') => `20990000019${',X'.repeat(14)},${period}${end}`;
const dateOf = (text: string) => {
  const { date } = padronMensualModule.source;
  if (date.from !== 'text') throw new Error('the monthly file is dated by its text');
  return date.read(Buffer.from(text, 'latin1'));
};
const problem = (line: string) => padronMensualFormat.problemOfHeader(Buffer.from(line, 'utf8'));

describe('the header of the monthly file', () => {
  it.each([
    ['commas', names.join(',')],
    ['pipes', names.join('|')],
    ['a UTF-8 mark', `\ufeff${names.join(',')}`],
    ['blanks and capitals', names.map((name) => ` ${name.toUpperCase()} `).join(',')],
  ])('is known with %s', (_name, line) => {
    expect(problem(line)).toBeNull();
  });

  it.each([
    ['a name that changed', names.join(',').replace('UBIGEO', 'CODIGO'), 'column 12 is not called UBIGEO'],
    ['columns in another order', ['Estado', 'RUC', ...names.slice(2)].join(','), 'column 1 is not called RUC'],
    ['a column more', [...names, 'NOMBRE'].join('|'), 'it has 17 columns, expected 16'],
    ['a row in its place', row('202609', ''), 'the first line is a row'],
    ['nothing', '', 'it has 1 columns, expected 16'],
  ])('is refused with %s', (_name, line, text) => {
    expect(problem(line)).toBe(text);
  });

  it('has one cell for the RUC and each column', () => {
    expect(padronMensualFormat.cells).toBe(padronMensual.columns.length + 1);
  });
});

describe('the date of the monthly file', () => {
  const header = `${names.join(',')}\n`;

  it('is the first day of the period of its first whole row', () => {
    expect(dateOf(header + row('202609'))).toBe('2026-09-01');
    expect(dateOf(`${names.join('|')}\r\n${row('202601', '\r\n').replaceAll(',', '|')}`)).toBe('2026-01-01');
    expect(dateOf(`${header}no row\n${row('202609')}`)).toBe('2026-09-01');
  });

  it.each([
    ['no row', header],
    ['a cut row', header + row('202609', '')],
    ['no month of the calendar', header + row('202613') + row('2026') + row('')],
    ['another header', row('202609')],
    ['nothing', ''],
  ])('is not known from %s', (_name, text) => {
    expect(dateOf(text)).toBeNull();
  });
});
