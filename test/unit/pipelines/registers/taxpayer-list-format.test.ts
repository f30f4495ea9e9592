import { describe, expect, it } from 'vitest';
import { registerModules } from '../../../../pipelines/registers/modules.ts';
import { taxpayerListFormat } from '../../../../pipelines/registers/taxpayer-list.ts';
import { joinLines } from '../../../support/registers/lines.ts';

const header = 'Ruc|Nombre/Razon|A partir del|Resolucion|';
const uno = '20990000019|"COMERCIAL PRUEBA UNO S.A.C."|01/10/2023|RS R.S.186-2023|';
const dos = '20990000027|D´PRUEBA & CIA S.R.L.|01/06/2012|RS R.S. 096-2012|';
const read = (lines: readonly (string | Uint8Array)[], lineEnd = '\r') =>
  taxpayerListFormat.read(Buffer.from(joinLines([header, ...lines], lineEnd)));
const cellsOf = (line: string) => read([line]).rows.get(line.slice(0, 11))?.cells;
const listed = (lines: readonly (string | Uint8Array)[]) =>
  read(lines).listed.map(({ line, reason, key }) => ({ line, reason, key }));

describe('the lines of a list', () => {
  it.each([['\r'], ['\r\n'], ['\n']])('end in CR, CR LF or LF alike (%j)', (lineEnd) => {
    const text = read([uno, dos], lineEnd);
    expect(text.lines).toBe(2);
    expect([...text.rows]).toEqual([
      ['20990000019', { cells: ['"COMERCIAL PRUEBA UNO S.A.C."', '2023-10-01', 'RS R.S.186-2023'], line: 2 }],
      ['20990000027', { cells: ['D´PRUEBA & CIA S.R.L.', '2012-06-01', 'RS R.S. 096-2012'], line: 3 }],
    ]);
    expect(text.listed).toEqual([]);
  });

  it('may lack the end of the last one', () => {
    const bytes = joinLines([header, uno, dos], '\r');
    expect(taxpayerListFormat.read(Buffer.from(bytes.subarray(0, bytes.length - 1)))).toMatchObject({ lines: 2 });
  });

  it('are left out where they are empty', () => {
    const text = read([uno, '', dos, '']);
    expect(text).toMatchObject({ lines: 2, listed: [] });
    expect(text.rows.get('20990000027')?.line).toBe(4);
  });

  it('keep quotes as data, balanced or not', () => {
    const names = ['"SIN CIERRE S.A.', '" CON ESPACIOS "', 'UNA "COMILLA" Y OTRA"'];
    const lines = names.map(
      (name, at) => `${['20990000019', '20990000027', '20990000035'][at]}|${name}|01/01/2020|RS 1|`,
    );
    expect([...read(lines).rows.values()].map(({ cells }) => cells[0])).toEqual(names);
  });

  it('are Windows-1252: Ñ, accents, curly quotes and the dash come out as they are, and ? stays ?', () => {
    const name = 'ÑAÑA ‘AVIACIÓN’ – “PERÚ”? ´¨';
    expect(cellsOf(`20990000019|${name}|01/01/2020|RS 1|`)?.[0]).toBe(name);
    const twice = Buffer.concat([
      Buffer.from('20990000019|'),
      Buffer.from('Ñ', 'utf8'),
      Buffer.from('|01/01/2020|RS 1|'),
    ]);
    expect(read([twice]).rows.get('20990000019')?.cells[0]).toBe('Ã‘');
  });

  it('keep a name that was cut at 100 characters, and a resolution in any of its spellings', () => {
    expect(cellsOf(`20990000019|${'A'.repeat(100)}|01/01/2020|RS RS 0230050312833|`)).toEqual([
      'A'.repeat(100),
      '2020-01-01',
      'RS RS 0230050312833',
    ]);
    expect(cellsOf('20990000019|A|01/01/2020|RS R.S. 184-2003/|')?.[2]).toBe('RS R.S. 184-2003/');
  });

  it('give the day as YYYY-MM-DD, whenever it is, and what is no day as written', () => {
    const day = (text: string) => cellsOf(`20990000019|A|${text}|RS 1|`)?.[1];
    expect(['31/12/2099', '29/02/2024', '30/02/2024', '1/6/2012', 'INDEF.'].map(day)).toEqual([
      '2099-12-31',
      '2024-02-29',
      '30/02/2024',
      '1/6/2012',
      'INDEF.',
    ]);
    expect(['', '00/00/0000', '00000000', ' '].map(day)).toEqual(['', '', '', '']);
  });

  it('stay when they hold a TAB or a NUL, which become spaces, and are listed', () => {
    const lines = ['20990000019|UNO\tDOS|01/01/2020|RS 1|', '20990000027|A\u0000B|01/01/2020|RS 1|'];
    const text = read(lines);
    expect([...text.rows.values()].map(({ cells }) => cells[0])).toEqual(['UNO DOS', 'A B']);
    expect(listed(lines)).toEqual([
      { line: 2, reason: 'control_byte', key: null },
      { line: 3, reason: 'control_byte', key: null },
    ]);
    expect(text.listed[0]!.raw.toString('latin1')).toBe(lines[0]);
  });

  it('are no rows with another number of cells or text after the last, and name their RUC', () => {
    const lines = [
      '20990000019|UNO|MEDIO|01/01/2020|RS 1|',
      '20990000027|DOS|01/01/2020|',
      '20990000035|TRES|01/01/2020|RS 1|X',
      '20990000043|CUATRO|01/01/2020|RS 1',
      ' ',
    ];
    expect(read(lines)).toMatchObject({ lines: 5, rows: new Map() });
    expect(listed(lines)).toEqual([
      { line: 2, reason: 'cell_count', key: '20990000019' },
      { line: 3, reason: 'cell_count', key: '20990000027' },
      { line: 4, reason: 'cell_count', key: '20990000035' },
      { line: 5, reason: 'cell_count', key: '20990000043' },
      { line: 6, reason: 'ruc_format', key: null },
    ]);
  });

  it('are no rows without a good RUC; ten good digits name it all the same', () => {
    const rest = '|UNO|01/01/2020|RS 1|';
    // Nothing is padded
    expect(listed([`123${rest}`, `2099000001X${rest}`, `99990000019${rest}`, `20990000018${rest}`])).toEqual([
      { line: 2, reason: 'ruc_format', key: null },
      { line: 3, reason: 'ruc_format', key: null },
      { line: 4, reason: 'ruc_prefix', key: null },
      { line: 5, reason: 'ruc_check_digit', key: '20990000019' },
    ]);
    // The check digits 10 and 11
    expect([...read([`20990000060${rest}`, `20990000001${rest}`, `20515397290${rest}`]).rows.keys()]).toHaveLength(3);
  });

  it('count the last of a repeat and list the repeat; a row without a name is a row', () => {
    const again = dos.replace('01/06/2012', '02/06/2012');
    const text = read([dos, uno, again, '20990000043||01/01/2020|RS 1|']);
    expect(text.rows.get('20990000027')).toEqual({
      cells: ['D´PRUEBA & CIA S.R.L.', '2012-06-02', 'RS R.S. 096-2012'],
      line: 4,
    });
    expect(text.rows.get('20990000043')?.cells[0]).toBe('');
    expect(text).toMatchObject({ lines: 4, listed: [{ line: 4, reason: 'duplicate', key: null }] });
  });
});

describe('another header', () => {
  const problem = (text: string | Buffer) => {
    try {
      taxpayerListFormat.read(Buffer.from(text));
      return null;
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      return `${code}: ${message}`;
    }
  };

  it.each([
    ['', 'empty: The publication is empty.'],
    [`${uno}\r`, 'header_changed: The header changed: the first line is a row.'],
    [
      `Ruc|Nombre|A partir del|Resolucion|\r${uno}\r`,
      'header_changed: The header changed: column 2 is not called Nombre/Razon.',
    ],
    ['Ruc|Nombre/Razon|A partir del|\r', 'header_changed: The header changed: it has 4 cells, expected 5.'],
    [`\ufeff${header}\r`, 'header_changed: The header changed: it begins with a UTF-8 mark.'],
    ['<html><body>403</body></html>', 'header_changed: The header changed: the text is a web page (HTML).'],
  ])('is refused without quoting it: %j', (text, expected) => {
    expect(problem(text)).toBe(expected);
  });
});

it('knows where the retention agents are published', () => {
  const { source } = registerModules.agentes_retencion;
  expect(source.url).toBe('https://www.sunat.gob.pe/descarga/AgentRet/AgenRet_TXT.zip');
  expect(source.container.kind === 'zip' && source.container.entry.test('AgenRet_TXT.txt')).toBe(true);
});
