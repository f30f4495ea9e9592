import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeZip } from '../../../../../deploy/local/demo/register/publication.ts';
import type { ChangeRecord } from '../../../../../pipelines/changes/record.ts';
import type { CompareResult } from '../../../../../pipelines/diff/types.ts';
import { encodeWindows1252 } from '../../../../../pipelines/registers/windows-1252.ts';
import { Harness, readContainer } from './harness.ts';

let harness: Harness;
beforeEach(() => {
  harness = new Harness('padron_mensual');
});
afterEach(() => harness.remove());

const names = [
  ...['RUC', 'Estado', 'Condicion', 'Tipo', 'Actividad_Economica_CIIU_revision3_Principal'],
  ...['Actividad_Economica_CIIU_revision3_Secundaria', 'Actividad_Economica_CIIU_revision4_Principal', 'NroTrab'],
  ...['TipoFacturacion', 'TipoContabilidad', 'ComercioExterior', 'UBIGEO', 'Departamento', 'Provincia', 'Distrito'],
  'PERIODO_PUBLICACION',
];
const first = [
  '20990000019',
  'ACTIVO',
  'HABIDO',
  'SAC',
  'NO DISPONIBLE',
  '-',
  '1010',
  '0',
  'MANUAL',
  'X',
  'SIN ACTIVIDAD',
];
const one = [...first, '100101', 'HUÁNUCO', 'HUÁNUCO', 'AMARILIS'];
const two = one.map((cell, at) => (at === 0 ? '20990000027' : at === 7 ? 'NO DISPONIBLE' : cell));

interface Month {
  period: string;
  rows: readonly string[][];
  delimiter?: ',' | '|';
  encode?(text: string): Uint8Array;
}

async function publish(month: Month, limits = {}): Promise<CompareResult> {
  const { period, rows, delimiter = ',', encode = (text: string) => Buffer.from(text, 'utf8') } = month;
  const lines = [names, ...rows.map((cells) => [...cells, period])].map((cells) => `${cells.join(delimiter)}\n`);
  await writeZip(harness.publicationPath, [{ name: `PadronRUC_${period}.csv`, content: encode(lines.join('')) }], 6);
  return harness.compare({}, limits);
}

describe('the monthly register', () => {
  it('is compared by the same engine, whatever delimiter and encoding a month is written in', async () => {
    const september = await publish({ period: '202609', rows: [one, two] });
    expect(september).toMatchObject({ baseline: 2, rejected: 0, emptyNames: 0 });
    const [row] = await readContainer<ChangeRecord>(september.changeFile.path);
    expect(row!.after).toMatchObject({ departamento: 'HUÁNUCO', nro_trabajadores: '0', ubigeo: '100101' });
    expect(row!.after).toMatchObject({ ciiu3_principal: 'NO DISPONIBLE' });
    const october: Month = { period: '202610', rows: [two, one], delimiter: '|', encode: encodeWindows1252 };
    expect(await publish(october)).toMatchObject({ unchanged: 2, updated: 0, deleted: 0 });
    // With a reading thread, that thread rewrites the text.
    const november: Month = {
      ...october,
      period: '202611',
      rows: [two.map((cell) => cell.replace('AMARILIS', 'AMBO'))],
    };
    const result = await publish(november, { minThreadTextBytes: 1 });
    expect(result).toMatchObject({ updated: 1, deleted: 1, changedByColumn: { distrito: 1, provincia: 0 } });
    expect(harness.workFiles(await harness.rebuild())).toEqual(harness.workFiles());
  });

  it('counts NO DISPONIBLE as empty, but not 0 workers', async () => {
    const { emptyByColumn } = await publish({ period: '202609', rows: [one, two] });
    expect(emptyByColumn).toMatchObject({ nro_trabajadores: 1, ciiu3_principal: 2, estado: 0 });
  });

  it('keeps the row of a RUC whose line is bad, and is corrected like any other register', async () => {
    await publish({ period: '202609', rows: [one, two] });
    const result = await publish({
      period: '202610',
      rows: [one.slice(0, -1), two.map((cell) => (cell === 'ACTIVO' ? 'BAJA' : cell))],
    });
    expect(result).toMatchObject({ kept: 1, rejected: 1, updated: 1, deleted: 0 });
    expect(await harness.correct(2)).toMatchObject({ updated: 1, conflicts: 0, stateRows: 2 });
    expect(await publish({ period: '202610', rows: [one, two] })).toMatchObject({ unchanged: 2, updated: 0 });
  });
});
