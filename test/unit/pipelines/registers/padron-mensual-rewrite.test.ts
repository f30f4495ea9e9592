import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rewriteLines } from '../../../../pipelines/registers/padron-mensual-rewrite.ts';
import { decodeWindows1252, encodeWindows1252 } from '../../../../pipelines/registers/windows-1252.ts';

const header =
  'RUC,Estado,Condicion,Tipo,Actividad_Economica_CIIU_revision3_Principal,' +
  'Actividad_Economica_CIIU_revision3_Secundaria,Actividad_Economica_CIIU_revision4_Principal,NroTrab,TipoFacturacion,' +
  'TipoContabilidad,ComercioExterior,UBIGEO,Departamento,Provincia,Distrito,PERIODO_PUBLICACION';
const row =
  '20990000019,ACTIVO,HABIDO,SOCIEDAD ANONIMA CERRADA,NO DISPONIBLE,NO DISPONIBLE,VENTA AL POR MENOR DE PRUEBAS,0,' +
  'MANUAL/COMPUTARIZADO,COMPUTARIZADO,SIN ACTIVIDAD,150122,LIMA,LIMA,MIRAFLORES,202609';
const closedRow = `${row.slice(0, row.lastIndexOf(',')).replaceAll(',', '|')}|`;
const huanuco = '20990000027,ACTIVO,HABIDO,-,-,-,-,1,-,-,-,100101,HUÁNUCO,HUÁNUCO,PEÑA,202609';
const closedHuanuco = '20990000027|ACTIVO|HABIDO|-|-|-|-|1|-|-|-|100101|HUÁNUCO|HUÁNUCO|PEÑA|';

async function rewritten(text: Buffer, cuts: readonly number[] = []): Promise<Buffer> {
  const borders = [...new Set([0, ...cuts.map((cut) => cut % (text.length + 1)), text.length])].sort((a, b) => a - b);
  async function* pieces() {
    for (const [index, from] of borders.entries()) yield text.subarray(from, borders[index + 1]);
  }
  const out: Buffer[] = [];
  for await (const piece of rewriteLines(pieces())) out.push(Buffer.from(piece));
  return Buffer.concat(out);
}
/** The lines after the header, as Windows-1252. */
async function rows(text: Buffer): Promise<string[]> {
  const out = await rewritten(text);
  return decodeWindows1252(out, 0, out.length).split('\n').slice(1, -1);
}
const latin = (lines: readonly string[], end = '\n') =>
  Buffer.from(encodeWindows1252(lines.map((line) => line + end).join('')));
const utf8 = (lines: readonly string[], end = '\n') => Buffer.from(lines.map((line) => line + end).join(''), 'utf8');

describe('the monthly text in the form that is scanned', () => {
  it('closes cells with pipes and leaves the period out; 0 and NO DISPONIBLE stay as written', async () => {
    expect(await rows(utf8([header, row]))).toEqual([closedRow]);
    expect(closedRow).toContain('|NO DISPONIBLE|NO DISPONIBLE|');
    expect(closedRow).toContain('|0|');
  });

  it.each([
    ['commas, Windows-1252', latin([header, huanuco])],
    ['commas, UTF-8', utf8([header, huanuco])],
    ['commas, UTF-8 with its mark', Buffer.concat([Buffer.from('\ufeff'), utf8([header, huanuco])])],
    ['pipes, Windows-1252', latin([header, huanuco].map((line) => line.replaceAll(',', '|')))],
    ['pipes, UTF-8', utf8([header, huanuco].map((line) => line.replaceAll(',', '|')))],
    ['CR LF', utf8([header, huanuco], '\r\n')],
    ['no last line end', utf8([header, huanuco]).subarray(0, -1)],
  ])('reads HUÁNUCO alike: %s', async (_name, text) => {
    expect(await rows(text)).toEqual([closedHuanuco]);
  });

  it('neither drops nor adds a leading zero of a ubigeo', async () => {
    const [ten, zero] = ['10202', '010202'].map((ubigeo) => row.replace('150122', ubigeo));
    expect((await rows(utf8([header, ten!, zero!]))).map((line) => line.split('|')[11])).toEqual(['10202', '010202']);
  });

  it('passes lines on as they are that are no row of this file, and keeps every line in its place', async () => {
    const otherPeriod = row.replace('202609', '202608');
    const short = row.replace(',LIMA,LIMA', ',LIMA');
    const withPipe = row.replace('LIMA', 'LI|MA');
    const lines = ['x', otherPeriod, short, withPipe, '', `${row},`];
    expect(await rows(utf8([header, row, ...lines, huanuco]))).toEqual([closedRow, ...lines, closedHuanuco]);
  });

  it('never lets a line pass for a row only because it is closed by pipes', async () => {
    const withoutPeriod = row.replaceAll(',', '|').replace('202609', '');
    expect(await rows(utf8([header.replaceAll(',', '|'), withoutPeriod]))).toEqual([`${withoutPeriod}|`]);
    expect(await rows(utf8([header, closedRow]))).toEqual([`${closedRow}|`]);
  });

  it('changes nothing where the header is not the known one', async () => {
    const text = utf8([header.replace('UBIGEO', 'CODIGO'), row]);
    expect(await rewritten(text)).toEqual(text);
  });

  it('marks what Windows-1252 lacks, and takes a stray byte of a UTF-8 file as Windows-1252', async () => {
    const wide = row.replace('MIRAFLORES', 'Ñ 漢 😀 \u0081 € ’');
    const stray = Buffer.concat([utf8([header, wide]), latin([huanuco])]);
    const [marked, read] = await rows(stray);
    expect(marked!.split('|')[14]).toBe('Ñ \ufffd \ufffd \ufffd € ’');
    expect(read).toBe(closedHuanuco);
  });

  it('lets a line of any length pass in bounded memory', async () => {
    const long = 'Á'.repeat(200_000);
    const text = utf8([header, row, long, row]);
    const expected = utf8([header, closedRow, long, closedRow]);
    for (const cuts of [[], [1_000, 150_000, 300_000]]) {
      expect(Buffer.compare(await rewritten(text, cuts), expected)).toBe(0);
    }
  });

  it('gives the same bytes for any cut into pieces', async () => {
    const piece = fc.constantFrom(row, huanuco, `${row}\r`, closedRow, 'x|y', '', '😀', 'Á'.repeat(40_000), header);
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 12 }),
        fc.constantFrom(utf8, latinOrMark),
        fc.boolean(),
        fc.array(fc.nat({ max: 1_000_000 }), { maxLength: 40 }),
        async (lines, encode, ended, cuts) => {
          const whole = encode([header, ...lines]);
          const text = ended ? whole : whole.subarray(0, -1);
          expect(Buffer.compare(await rewritten(text, cuts), await rewritten(text))).toBe(0);
        },
      ),
      { numRuns: 200 },
    );
  });
});

function latinOrMark(lines: readonly string[]): Buffer {
  return latin(lines.map((line) => line.replaceAll('😀', '?')));
}
