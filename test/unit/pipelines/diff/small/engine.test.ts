import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeZip } from '../../../../../deploy/local/demo/register/publication.ts';
import { smallEngine } from '../../../../../pipelines/diff/small/rebuild.ts';
import { changesOf, listedIn, listHeader, overlayOf, SmallHarness } from './harness.ts';
import { compareInModel, type ModelEdition, undoInModel } from './model.ts';

let harness: SmallHarness;
beforeEach(() => {
  harness = new SmallHarness('agentes_retencion');
});
afterEach(() => harness.remove());

const uno = '20990000019|"COMERCIAL PRUEBA UNO S.A.C."|01/10/2023|RS R.S.186-2023|';
const dos = '20990000027|D´PRUEBA & CIA S.R.L.|01/06/2012|RS R.S. 096-2012|';
const ana = '10990000013|ÑAHUIS QUISPE ÁNGEL|01/01/2020|RS R.S.001-2020|';
const rowOfUno = ['"COMERCIAL PRUEBA UNO S.A.C."', '2023-10-01', 'RS R.S.186-2023'];
const rowOfDos = ['D´PRUEBA & CIA S.R.L.', '2012-06-01', 'RS R.S. 096-2012'];
const rowOfAna = ['ÑAHUIS QUISPE ÁNGEL', '2020-01-01', 'RS R.S.001-2020'];

describe('an edition of a list', () => {
  it('is a baseline first, and later has the rows that appear, differ and disappear', async () => {
    const first = await harness.publish([listHeader, uno, dos]);
    expect(first).toMatchObject({ lines: 2, rows: 2, baseline: 2, stateRows: 2, unchanged: 0 });
    expect(await changesOf(first)).toEqual([
      { op: 'r', key: '20990000019', before: null, after: rowOfUno, line: 2 },
      { op: 'r', key: '20990000027', before: null, after: rowOfDos, line: 3 },
    ]);
    const changed = uno.replace('186-2023', '187-2023');
    const second = await harness.publish([listHeader, ana, changed]);
    // A RUC that is no longer on the list has left it.
    expect(await changesOf(second)).toEqual([
      { op: 'c', key: '10990000013', before: null, after: rowOfAna, line: 2 },
      { op: 'u', key: '20990000019', before: rowOfUno, after: [...rowOfUno.slice(0, 2), 'RS R.S.187-2023'], line: 3 },
      { op: 'd', key: '20990000027', before: rowOfDos, after: null, line: null },
    ]);
    expect(second).toMatchObject({ inserted: 1, updated: 1, deleted: 1, unchanged: 0, stateRows: 2, rows: 2 });
    expect(second.changedByColumn).toEqual({ nombre: 0, desde: 0, resolucion: 1 });
    expect(second.changedByKind.company).toMatchObject({ rows: 1, updated: 1, deleted: 1, inserted: 0 });
    expect(second.changedByKind.other).toMatchObject({ rows: 1, inserted: 1 });
    expect(second.rowsByKind).toEqual({ 10: 1, 20: 1 });
  });

  it('is empty for the same rows in another order', async () => {
    await harness.publish([listHeader, uno, dos]);
    const result = await harness.publish([listHeader, dos, uno]);
    expect(result).toMatchObject({ unchanged: 2, inserted: 0, updated: 0, deleted: 0 });
    expect(await changesOf(result)).toEqual([]);
  });

  it('keeps a known RUC whose only line is bad, and lists it', async () => {
    await harness.publish([listHeader, uno, dos]);
    const broken = uno.replace('PRUEBA', 'PRU|EBA');
    const result = await harness.publish([listHeader, broken, dos.replace('027', '028'), ana]);
    expect(result).toMatchObject({ kept: 2, rejected: 2, rows: 1, stateRows: 3, deleted: 0, inserted: 1 });
    expect(result.rejectedByReason).toEqual({ cell_count: 1, ruc_check_digit: 1 });
    expect(await overlayOf(result)).toEqual([
      { key: '20990000019', reason: 'bad_line', line: null, row: rowOfUno },
      { key: '20990000027', reason: 'bad_line', line: null, row: rowOfDos },
    ]);
    expect(listedIn(result)[0]).toEqual({
      line: 2,
      reason: 'cell_count',
      raw: Buffer.from(broken, 'latin1').toString('latin1'),
    });
  });

  it('keeps a line with a TAB without a change on the next day, counted as repaired', async () => {
    const tabbed = uno.replace('PRUEBA UNO', 'PRUEBA\tUNO');
    const first = await harness.publish([listHeader, tabbed]);
    expect(first).toMatchObject({ rows: 1, rejected: 0, repaired: 1, rejectedByReason: { control_byte: 1 } });
    expect(await harness.publish([listHeader, uno])).toMatchObject({ unchanged: 1, updated: 0 });
  });

  it('is not made when no line is a row', async () => {
    await harness.publish([listHeader, uno]);
    for (const lines of [[listHeader], [listHeader, 'X|Y|']]) {
      await expect(harness.publish(lines)).rejects.toMatchObject({ code: 'empty', isPublicationFault: true });
    }
    expect(harness.editions).toHaveLength(1);
  });

  it('is not made from a web page, a zip without the list or damaged bytes; the head stays', async () => {
    await harness.publish([listHeader, uno]);
    const publicationPath = await harness.write([listHeader, uno, dos]);
    const good = readFileSync(publicationPath);
    const damaged = Buffer.from(good);
    damaged[60]! ^= 0xff;
    writeFileSync(publicationPath, damaged);
    await expect(harness.compare({ publicationPath })).rejects.toMatchObject({ code: 'zip_crc' });
    writeFileSync(publicationPath, '<html><body>403 Forbidden</body></html>');
    await expect(harness.compare({ publicationPath })).rejects.toMatchObject({
      code: 'zip_invalid',
      message: /web page/,
    });
    await writeZip(publicationPath, [{ name: 'BueCont_TXT.txt', content: Buffer.from(listHeader) }], 6);
    await expect(harness.compare({ publicationPath })).rejects.toMatchObject({ code: 'zip_entry' });
    writeFileSync(publicationPath, good);
    expect(await harness.compare({ publicationPath })).toMatchObject({ inserted: 1, unchanged: 1 });
  });

  it('counts empty cells, names and repeats', async () => {
    const result = await harness.publish([listHeader, uno, uno, '20990000043||00/00/0000|RS 1|']);
    expect(result).toMatchObject({ lines: 3, rows: 2, duplicates: 1, emptyNames: 1 });
    expect(result.emptyByColumn).toEqual({ nombre: 1, desde: 1, resolucion: 0 });
  });
});

describe('over any chain of publications and corrections', () => {
  const rucs = ['10990000013', '15990000015', '20990000001', '20990000019', '20990000027', '20990000060'];
  const goodLine = fc
    .tuple(fc.constantFrom(...rucs), fc.constantFrom('A', '"B', 'Ñ\tX', ''), fc.constantFrom('2020-01-01', ''))
    .map(([ruc, name, day]) => `${ruc}|${name}|${day}|RS 1|`);
  const badLine = fc
    .tuple(goodLine, fc.constantFrom('pipe', 'digit', 'tail'))
    .map(([line, how]) =>
      how === 'pipe'
        ? line.replace('|', '||')
        : how === 'tail'
          ? line.slice(0, -1)
          : line.replace(/^(\d{10})\d/, (_, ten: string) => `${ten}${(Number(line[10]) + 1) % 10}`),
    );
  const lines = fc.array(fc.oneof({ weight: 5, arbitrary: goodLine }, { weight: 1, arbitrary: badLine }), {
    maxLength: 9,
  });
  const step = fc.record({ lines, undo: fc.option(fc.nat(), { nil: null }) });

  it('agrees with a plain comparison of maps and can be rebuilt to the byte', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 6 }), async (steps) => {
        const chain = new SmallHarness('buenos_contribuyentes');
        const editions: ModelEdition[] = [];
        try {
          for (const { lines: published, undo } of steps) {
            const head = editions.at(-1) ?? null;
            if (undo !== null && editions.length > 1) {
              const corrects = 2 + (undo % (editions.length - 1));
              const result = await chain.correct(corrects, chain.editions.at(-1)!.overlayFile?.path ?? null);
              const expected = undoInModel(head!, editions[corrects - 1]!);
              expect(await changesOf(result)).toEqual(expected.changes);
              expect(await overlayOf(result)).toEqual(expected.overlay);
              expect(result).toMatchObject({ conflicts: expected.conflicts.length, stateRows: expected.state.size });
              editions.push(expected);
              continue;
            }
            // There is always one row, since a publication without rows is refused.
            const all = [...published, '20990000043|SIEMPRE|2020-01-01|RS 1|'];
            const result = await chain.publish([listHeader, ...all]);
            const expected = compareInModel(head?.state ?? null, all);
            expect(await changesOf(result)).toEqual(expected.changes);
            expect(await overlayOf(result)).toEqual(expected.overlay);
            expect(result).toMatchObject({ stateRows: expected.state.size, kept: expected.overlay.length });
            expect(result.rows + result.rejected + result.duplicates).toBe(all.length);
            expect(result.unchanged + result.inserted + result.updated + result.baseline).toBe(result.rows);
            editions.push(expected);
          }
          const workDir = join(chain.folder, 'rebuilt');
          const { indexName, stateRows } = chain.editions.at(-1)!;
          expect(await chain.rebuild(workDir)).toEqual({ edition: editions.length, indexName, rows: stateRows });
          expect(chain.workFiles(workDir)).toEqual(chain.workFiles());
        } finally {
          chain.remove();
        }
      }),
      { numRuns: 20 },
    );
  }, 120_000);
});

describe('a run', () => {
  it('gives the same bytes when it is repeated, and leaves no attempts', async () => {
    await harness.publish([listHeader, uno, ana]);
    const second = await harness.publish([listHeader, uno, dos, 'X|']);
    const [files, outputs] = [harness.workFiles(), harness.workFiles(harness.outputDir)];
    const base = { edition: 1, changeFileSha256: harness.editions[0]!.changeFile.sha256 };
    const publicationPath = await harness.write([listHeader, uno, dos, 'X|']);
    const again = await harness.compare({ publicationPath, base, edition: 2, detectedAt: 1_790_000_000_002 });
    expect(again).toEqual(second);
    expect(harness.workFiles()).toEqual(files);
    expect(harness.workFiles(harness.outputDir)).toEqual(outputs);
    expect(Object.keys({ ...files, ...outputs }).filter((name) => name.includes('attempt'))).toEqual([]);
  });

  it('keeps the states of the last two editions', async () => {
    for (const name of ['A', 'B', 'C']) await harness.publish([listHeader, uno.replace('UNO', name)]);
    const shas = harness.editions.slice(1).map(({ changeFile }) => `agentes_retencion.${changeFile.sha256}.rows`);
    expect(readdirSync(harness.workDir).sort()).toEqual(shas.sort());
  });

  it('says that the base is missing or damaged, and goes on from a rebuilt one', async () => {
    const first = await harness.publish([listHeader, uno, ana]);
    const file = join(harness.workDir, `${first.indexName}.rows`);
    const good = readFileSync(file, 'utf8');
    const damages: [string, string][] = [
      ['index_damaged', good.replace('186-2023', '187-2023')],
      ['index_damaged', good.slice(0, -5)],
      ['index_damaged', good.replace(/"edition":1/, '"edition":2')],
      ['index_damaged', good.replace('agentes_retencion', 'buenos_contribuyentes')],
      ['index_damaged', ''],
    ];
    for (const [code, text] of damages) {
      writeFileSync(file, text);
      await expect(harness.publish([listHeader, uno])).rejects.toMatchObject({ code });
    }
    const lost = { edition: 1, changeFileSha256: '0'.repeat(64) };
    await expect(harness.publish([listHeader, uno], { base: lost, edition: 2 })).rejects.toMatchObject({
      code: 'index_missing',
    });
    await harness.rebuild(harness.workDir);
    expect(readFileSync(file, 'utf8')).toBe(good);
    expect(await harness.publish([listHeader, uno])).toMatchObject({ deleted: 1, unchanged: 1 });
  });

  it('ends when it is aborted and leaves no unfinished file', async () => {
    await harness.publish([listHeader, uno]);
    const stop = new AbortController();
    const publicationPath = await harness.write([listHeader, dos]);
    const input = { ...harness.next(), publicationPath };
    const run = smallEngine.compare(
      input,
      ({ phase }) => phase === 'merge' && stop.abort(new Error('asked to stop')),
      stop.signal,
    );
    await expect(run).rejects.toThrow('asked to stop');
    expect(readdirSync(harness.workDir)).toHaveLength(1);
    expect(readdirSync(harness.outputDir)).toHaveLength(1);
  });
});

describe('a rebuild', () => {
  it('refuses change files that are damaged, of another register or out of order', async () => {
    for (const name of ['A', 'B', 'C']) await harness.publish([listHeader, uno.replace('UNO', name)]);
    const other = new SmallHarness('buenos_contribuyentes');
    const damaged = { code: 'change_file_damaged' };
    await expect(harness.rebuild(join(harness.folder, 'x'), 2)).rejects.toMatchObject(damaged);
    other.editions.push(...harness.editions);
    await expect(other.rebuild(join(harness.folder, 'x'))).rejects.toMatchObject(damaged);
    harness.editions.splice(1, 1);
    await expect(harness.rebuild(join(harness.folder, 'x'))).rejects.toMatchObject(damaged);
    const { path } = harness.editions[0]!.changeFile;
    writeFileSync(path, readFileSync(path).subarray(0, -1));
    await expect(harness.rebuild(join(harness.folder, 'x'))).rejects.toMatchObject(damaged);
    other.remove();
  });
});
