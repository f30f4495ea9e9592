import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sanctionsOf } from '../../../../../schemas/sanctions.ts';
import { changesOf, overlayOf, SmallHarness } from './harness.ts';

let harness: SmallHarness;
beforeEach(() => {
  harness = new SmallHarness('sancionados');
});
afterEach(() => harness.remove());

const header =
  'FECHA_CORTE|RUC|NOMBRE_RAZONODENOMINACIONSOCIAL|FECHA_INICIO|FECHA_FIN|NUMERO_RESOLUCION|ID_MOTIVO_INFRACCION|DE_MOTIVO_INFRACCION';
const bar = (id: string, resolution: string, motive = 'TEXTO') =>
  `20260404|${id}|PROVEEDOR DE PRUEBA|20250115|20260415|${resolution}|214,|${motive}`;
const resolutions = (cells: readonly string[] | null) => sanctionsOf(cells![1]!).map(({ resolucion }) => resolucion);

describe('an edition of bars', () => {
  it("is refused when a supplier's row would be too long for Kafka and ClickHouse", async () => {
    const lines = Array.from({ length: 5_000 }, (_, number) => bar('20990000019', String(number)));
    await expect(harness.publish([header, bar('20990000027', '1'), ...lines])).rejects.toMatchObject({
      code: 'text_invalid',
      isPublicationFault: true,
      message:
        "The text of the publication is not the register's: the row at line 5002 has more than 524288 characters.",
    });
    expect(await harness.publish([header, ...lines.slice(0, 1_000)])).toMatchObject({ stateRows: 1 });
  });

  it('has one change per supplier, in the order of ids as text, whatever the kind of id', async () => {
    const lines = [
      bar('20990000019', '1'),
      bar('A-7', '2'),
      bar('99000000123', '3'),
      bar('0123456789', '4'),
      bar('Ñ1', '5'),
    ];
    const first = await harness.publish([header, ...lines, bar('20990000019', '6')]);
    const changes = await changesOf(first);
    expect(changes.map(({ op, key }) => [op, key])).toEqual([
      ['r', '0123456789'],
      ['r', '20990000019'],
      ['r', '99000000123'],
      ['r', 'A-7'],
      ['r', 'Ñ1'],
    ]);
    expect(changes[1]).toMatchObject({ line: 7, after: ['ruc', expect.anything()] });
    expect(resolutions(changes[1]!.after)).toEqual(['1', '6']);
    expect(first).toMatchObject({ lines: 6, rows: 5, stateRows: 5, emptyNames: 0 });
    expect(first.rowsByKind).toEqual({ 20: 1, codigo_extranjero: 1, documento: 3 });
    expect(first.changedByKind).toMatchObject({ company: { rows: 1 }, other: { rows: 4 } });
    const second = await harness.publish([header, ...lines.toReversed(), bar('20990000019', '7')]);
    expect((await changesOf(second)).map(({ op, key }) => [op, key])).toEqual([['u', '20990000019']]);
    expect(second.changedByColumn).toEqual({ tipo_id: 0, sanciones: 1 });
  });

  it('sees no change in another cut-off date, another order and a repeat', async () => {
    const lines = [bar('20990000019', '1'), bar('20990000019', '2'), bar('20990000027', '1')];
    await harness.publish([header, ...lines]);
    const later = [...lines, lines[0]!].toReversed().map((line) => line.replace('20260404', '20260501'));
    expect(await harness.publish([header, ...later])).toMatchObject({ unchanged: 2, updated: 0, duplicates: 1 });
  });

  it('keeps the whole row of a known supplier of whom one line is bad: it would look free of that bar', async () => {
    await harness.publish([header, bar('20990000019', '1'), bar('20990000019', '2'), bar('20990000027', '3')]);
    const broken = bar('20990000019', '2', 'CON | EN EL TEXTO');
    const unknown = bar('20990000035', '4', 'CON | EN EL TEXTO');
    const lines = [bar('20990000019', '1'), broken, bar('20990000027', '3'), bar('20990000035', '5'), unknown];
    const result = await harness.publish([header, ...lines]);
    expect(result).toMatchObject({
      kept: 1,
      rejected: 2,
      updated: 0,
      inserted: 1,
      rows: 2,
      stateRows: 3,
      unchanged: 1,
    });
    const [kept] = await overlayOf(result);
    expect(kept).toMatchObject({ key: '20990000019', reason: 'bad_line', line: null });
    expect(resolutions(kept!.row)).toEqual(['1', '2']);
  });

  it('is not made from a web page or an empty file', async () => {
    await expect(harness.publish(['<html><body>404</body></html>'])).rejects.toMatchObject({
      code: 'text_invalid',
      message: /web page/,
    });
    await expect(harness.publish([])).rejects.toMatchObject({ code: 'empty' });
  });

  it('writes rows and records that are longer than a block of the file', async () => {
    const lines = Array.from({ length: 500 }, (_, at) =>
      bar('20990000019', String(at), `${at} ${'MOTIVO '.repeat(120)}`),
    );
    const small = Array.from({ length: 300 }, (_, at) => bar(`A-${at}`, '1'));
    const first = await harness.publish([header, ...small, ...lines]);
    const changes = await changesOf(first);
    expect(changes).toHaveLength(301);
    expect(changes[0]!.after![1]!.length).toBeGreaterThan(400_000);
    expect(await harness.publish([header, ...lines, ...small])).toMatchObject({ unchanged: 301, updated: 0 });
  });
});
