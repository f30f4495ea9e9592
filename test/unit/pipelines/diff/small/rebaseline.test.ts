import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { registerModules } from '../../../../../pipelines/registers/modules.ts';
import { taxpayerListFormat } from '../../../../../pipelines/registers/taxpayer-list.ts';
import { type Column, registers } from '../../../../../schemas/registers.ts';
import { changesOf, listHeader, overlayOf, SmallHarness } from './harness.ts';

const register = registers.agentes_retencion as { parserVersion: number; columns: readonly Column[] };
const module = registerModules.agentes_retencion;
const known = register.columns.map(({ name }) => name);
let harness: SmallHarness;
beforeEach(() => {
  harness = new SmallHarness('agentes_retencion');
});
afterEach(() => {
  harness.remove();
  register.parserVersion = 1;
  module.format = taxpayerListFormat;
});

const line = (ruc: string, name: string) => `${ruc}|${name}|01/01/2020|RS 1|`;
const row = (name: string, resolution = 'RS 1') => [name, '2020-01-01', resolution];
const [ana, same, changes, goes, comes] = [
  '10990000013',
  '20990000001',
  '20990000019',
  '20990000027',
  '20990000060',
] as const;

/** The list as a newer parser would read it: resolutions have a hyphen, and these RUCs are refused. */
function newParser(unknown: readonly string[] = []): void {
  register.parserVersion = 2;
  module.format = {
    size: 'small',
    read: (bytes) => {
      const text = taxpayerListFormat.read(bytes);
      const rows = [...text.rows].filter(([key]) => !unknown.includes(key));
      const read = rows.map(
        ([key, { cells, line: at }]) => [key, { cells: row(cells[0]!, 'RS-1'), line: at }] as const,
      );
      return { ...text, rows: new Map(read) };
    },
  };
}

describe('a re-baseline', () => {
  it('is asked for when the parser changed', async () => {
    await harness.publish([listHeader, line(same, 'S')]);
    newParser();
    await expect(harness.publish([listHeader, line(same, 'S')])).rejects.toMatchObject({ code: 'parser_changed' });
  });

  it('has updates only where one parser reads a difference, and repeats all other rows without an event', async () => {
    const old = [listHeader, line(same, 'S'), line(changes, 'A'), line(goes, 'G'), line(ana, 'A')];
    const publicationPath = await harness.write(old);
    await harness.compare({ publicationPath });
    newParser();
    const previous = { publicationPath, overlayPath: null, knownColumns: known };
    const result = await harness.publish(
      [listHeader, line(same, 'S'), line(changes, 'B'), line(ana, 'A'), line(comes, 'C')],
      { previous },
    );
    expect(await changesOf(result)).toEqual([
      { op: 'r', key: ana, before: null, after: row('A', 'RS-1'), line: 4 },
      { op: 'r', key: same, before: null, after: row('S', 'RS-1'), line: 2 },
      { op: 'u', key: changes, before: row('A', 'RS-1'), after: row('B', 'RS-1'), line: 3 },
      { op: 'd', key: goes, before: row('G', 'RS-1'), after: null, line: null },
      { op: 'c', key: comes, before: null, after: row('C', 'RS-1'), line: 5 },
    ]);
    expect(result).toMatchObject({ parserVersion: 2, baseline: 2, updated: 1, deleted: 1, inserted: 1, stateRows: 4 });
    expect(result.changedByColumn).toEqual({ nombre: 1, desde: 0, resolucion: 0 });
    expect(await harness.publish([listHeader, line(same, 'S'), line(changes, 'B')])).toMatchObject({
      deleted: 2,
      updated: 0,
    });
  });

  it("blames the head's publication, not the new one, when that cannot be read", async () => {
    await harness.publish([listHeader, line(same, 'S')]);
    register.parserVersion = 2;
    const publicationPath = await harness.write(['Ruc|Nombre|A partir del|Resolucion|', line(same, 'S')]);
    const previous = { publicationPath, overlayPath: null, knownColumns: known };
    await expect(harness.publish([listHeader, line(same, 'S')], { previous })).rejects.toMatchObject({
      code: 'previous_unreadable',
      isPublicationFault: false,
      message: 'The header changed: column 2 is not called Nombre/Razon.',
    });
  });

  it('makes no event from a column that the head did not have', async () => {
    const publicationPath = await harness.write([listHeader, line(same, 'S'), line(changes, 'A')]);
    await harness.compare({ publicationPath });
    register.parserVersion = 2;
    const previous = { publicationPath, overlayPath: null, knownColumns: ['desde', 'resolucion'] };
    const result = await harness.publish([listHeader, line(same, 'S'), line(changes, 'B')], { previous });
    expect((await changesOf(result)).map(({ op }) => op)).toEqual(['r', 'r']);
    expect(result.changedByColumn).toEqual({ nombre: 0, desde: 0, resolucion: 0 });
  });

  it("honours the head's overlay and its own bad lines; a row that neither reading has ends as it was", async () => {
    await harness.publish([listHeader, line(same, 'S'), line(changes, 'A'), line(goes, 'G')]);
    const publicationPath = await harness.write([listHeader, line(changes, 'A'), line(goes, 'G'), `${same}|BAD|`]);
    const head = await harness.compare({ publicationPath });
    newParser([goes]);
    const previous = { publicationPath, overlayPath: head.overlayFile!.path, knownColumns: known };
    const result = await harness.publish([listHeader, `${changes}|BAD|`, line(same, 'T'), line(goes, 'G')], {
      previous,
    });
    expect(await changesOf(result)).toEqual([
      { op: 'u', key: same, before: row('S'), after: row('T', 'RS-1'), line: 3 },
      { op: 'r', key: changes, before: null, after: row('A', 'RS-1'), line: null },
      { op: 'd', key: goes, before: row('G'), after: null, line: null },
    ]);
    expect(await overlayOf(result)).toEqual([{ key: changes, reason: 'bad_line', line: null, row: row('A', 'RS-1') }]);
  });

  it('makes no event from a row that only the old parser could not read, but one from a row that a correction had removed', async () => {
    module.format = {
      size: 'small',
      read: (bytes) => {
        const text = taxpayerListFormat.read(bytes);
        return { ...text, rows: new Map([...text.rows].filter(([key]) => key !== changes)) };
      },
    };
    await harness.publish([listHeader, line(same, 'S')]);
    const publicationPath = await harness.write([listHeader, line(same, 'S'), line(changes, 'A'), line(comes, 'C')]);
    await harness.compare({ publicationPath });
    const head = await harness.correct(2);
    newParser();
    const previous = { publicationPath, overlayPath: head.overlayFile!.path, knownColumns: known };
    const lines = [listHeader, line(same, 'S'), line(changes, 'B'), line(comes, 'C'), line(ana, 'A')];
    const result = await harness.publish(lines, { previous });
    expect((await changesOf(result)).map(({ op, key }) => [op, key])).toEqual([
      ['c', ana],
      ['r', same],
      ['r', changes],
      ['c', comes],
    ]);
  });

  it('needs no earlier edition to be rebuilt, gives the same bytes in a chain, and cannot be undone', async () => {
    const publicationPath = await harness.write([listHeader, line(same, 'S'), line(goes, 'G')]);
    await harness.compare({ publicationPath });
    newParser();
    const previous = { publicationPath, overlayPath: null, knownColumns: known };
    // Every row differs, so only its own metadata distinguishes this edition from an ordinary one.
    await harness.publish([listHeader, line(same, 'T')], { previous });
    await harness.publish([listHeader, line(same, 'U'), line(comes, 'C')]);
    for (const from of [1, 2]) {
      const workDir = join(harness.folder, `from-${from}`);
      await harness.rebuild(workDir, from);
      expect(harness.workFiles(workDir)).toEqual(harness.workFiles());
    }
    await expect(harness.correct(2)).rejects.toMatchObject({ code: 'not_correctable' });
  });
});
