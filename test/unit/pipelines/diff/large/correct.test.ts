import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChangeRecord } from '../../../../../pipelines/changes/record.ts';
import { runInChild } from '../../../../../pipelines/diff/child.ts';
import { encodeWindows1252 } from '../../../../../pipelines/registers/windows-1252.ts';
import { officialExampleLines } from '../../../../fixtures/padron-reducido/examples.ts';
import { Harness, readContainer } from './harness.ts';
import { rowOf } from './model.ts';

let harness: Harness;
beforeEach(() => {
  harness = new Harness();
});
afterEach(() => harness.remove());

const [person, company, other, , acme] = officialExampleLines as unknown as [string, string, string, string, string];
const renamed = company.replace('COMERCIAL PRUEBA UNO S.A.C.', 'OTRO NOMBRE S.A.C.');
const row = (line: string) => rowOf(encodeWindows1252(line));
const rucOf = (line: string) => line.slice(0, 11);
const changesOf = (result: { changeFile: { path: string } }) => readContainer<ChangeRecord>(result.changeFile.path);

/** Publishes two editions. In the second one row appears, one changes and one disappears. */
async function publishTwo(): Promise<void> {
  await harness.publish([person, company, other]);
  await harness.publish([person, renamed, acme]);
}

describe('a correction', () => {
  it('gives every RUC of the undone edition its earlier row, and names that edition', async () => {
    await publishTwo();
    const result = await harness.correct(2);
    expect(result).toMatchObject({ inserted: 1, updated: 1, deleted: 1, baseline: 0, stateRows: 3, conflicts: 0 });
    expect(result).toMatchObject({ conflictFile: null, lines: 0, rows: 0, rejected: 0, unchanged: 1 });
    expect(result.changedByColumn).toMatchObject({ nombre: 1, estado: 0 });
    const strip = ({ seq: _, detected_at: __, edition: ___, ...change }: ChangeRecord) => change;
    expect((await changesOf(result)).map(strip)).toEqual([
      { op: 'u', ruc: rucOf(company), before: row(renamed), after: row(company), line: null, corrects: 2 },
      { op: 'c', ruc: rucOf(other), before: null, after: row(other), line: null, corrects: 2 },
      { op: 'd', ruc: rucOf(acme), before: row(acme), after: null, line: null, corrects: 2 },
    ]);
    // The publication has the row that the correction removed, and lacks the row that it brought back.
    expect(await readContainer(result.overlayFile!.path)).toEqual([
      { ruc: rucOf(company), reason: 'correction', line: null, row: row(company) },
      { ruc: rucOf(other), reason: 'correction', line: null, row: row(other) },
      { ruc: rucOf(acme), reason: 'correction', line: null, row: null },
    ]);
  });

  it('is an exact base: the next publication is compared with the corrected state', async () => {
    await publishTwo();
    await harness.correct(2);
    const same = await harness.publish([other, company, person]);
    expect(same).toMatchObject({ inserted: 0, updated: 0, deleted: 0, unchanged: 3, overlayFile: null });
    const again = await harness.publish([person, renamed, acme]);
    expect(again).toMatchObject({ inserted: 1, updated: 1, deleted: 1 });
    expect(harness.workFiles(await harness.rebuild())).toEqual(harness.workFiles());
  });

  it('leaves rows that changed since, and lists them: changed again, gone, come back', async () => {
    await publishTwo();
    const twice = renamed.replace('OTRO', 'TERCER');
    await harness.publish([person, twice, other]);
    const result = await harness.correct(2);
    expect(result).toMatchObject({ conflicts: 3, inserted: 0, updated: 0, deleted: 0, overlayFile: null });
    const listed = readFileSync(result.conflictFile!.path, 'utf8').trimEnd().split('\n');
    expect(listed.map((line) => JSON.parse(line) as unknown)).toEqual([
      { edition: 2, ruc: rucOf(company), reason: 'changed_again' },
      { edition: 2, ruc: rucOf(other), reason: 'came_back' },
      { edition: 2, ruc: rucOf(acme), reason: 'gone' },
    ]);
    expect(result.conflictFile!.path).toContain(`padron_reducido.4.conflicts.${result.changeFile.sha256}.ndjson`);
  });

  it('undoes an older edition where later ones left its rows alone, and carries the overlay of the head on', async () => {
    await publishTwo();
    const broken = acme.replace('HABIDO', 'HA|BIDO');
    await harness.publish([person, renamed.replace('|OTRO NOMBRE S.A.C.|', '||'), broken]);
    const result = await harness.correct(2);
    expect(result).toMatchObject({ conflicts: 0, inserted: 1, updated: 1, deleted: 1 });
    const overlay = await readContainer<{ ruc: string; reason: string }>(result.overlayFile!.path);
    expect(overlay.map(({ ruc, reason }) => [ruc, reason])).toEqual([
      [rucOf(company), 'correction'],
      [rucOf(other), 'correction'],
      [rucOf(acme), 'correction'],
    ]);
    await harness.publish([person.replace('HABIDO', 'HA|BIDO'), company, other]);
    await harness.publish([person.replace('HABIDO', 'HA|BIDO'), renamed, other]);
    const carried = await readContainer((await harness.correct(6)).overlayFile!.path);
    expect(carried).toEqual([
      { ruc: rucOf(person), reason: 'bad_line', line: null, row: row(person) },
      { ruc: rucOf(company), reason: 'correction', line: null, row: row(company) },
    ]);
  });

  it('can itself be undone', async () => {
    await publishTwo();
    await harness.correct(2);
    expect(await harness.correct(3)).toMatchObject({ inserted: 1, updated: 1, deleted: 1, conflicts: 0 });
    expect(await harness.publish([person, renamed, acme])).toMatchObject({ unchanged: 3, inserted: 0, deleted: 0 });
  });

  it('of a first edition, or from another file than that of the edition, is refused', async () => {
    await publishTwo();
    await expect(harness.correct(1)).rejects.toMatchObject({ code: 'not_correctable', isPublicationFault: false });
    const correctedFile = harness.editions[0]!.changeFile.path;
    await expect(harness.correct(2, { correctedFile })).rejects.toMatchObject({ code: 'change_file_damaged' });
    expect(harness.editions).toHaveLength(2);
  });

  it('gives the same bytes when it is repeated', async () => {
    await publishTwo();
    const first = await harness.correct(2);
    const files = harness.workFiles();
    const { edition, base, detectedAt } = { edition: 3, detectedAt: 1_790_000_000_003, base: baseOf(2) };
    expect(await harness.correct(2, { edition, base, detectedAt, overlayPath: null })).toEqual(first);
    expect(harness.workFiles()).toEqual(files);
  });
});

const baseOf = (edition: number) => ({ edition, changeFileSha256: harness.editions[edition - 1]!.changeFile.sha256 });

it('a child process corrects and rebuilds as this one does', async () => {
  const quiet = new AbortController().signal;
  await publishTwo();
  const here = await harness.correct(2);
  const files = harness.workFiles();
  const { register, workDir, outputDir } = harness.next();
  const correction = {
    ...{ register, workDir, outputDir, base: baseOf(2), edition: 3, detectedAt: 1_790_000_000_003, corrects: 2 },
    ...{ correctedFile: harness.editions[1]!.changeFile.path, overlayPath: null },
  };
  const { usage, ...there } = await runInChild('correct', correction, () => {}, quiet);
  expect(there).toEqual(here);
  expect(usage.cpuSeconds).toBeGreaterThan(0);
  const changeFiles = harness.editions.map(({ changeFile }, index) => ({ edition: index + 1, ...changeFile }));
  const rebuilding = { register, workDir: `${harness.folder}/there`, changeFiles };
  const seen: number[] = [];
  const rebuilt = await runInChild('rebuild', rebuilding, ({ edition }) => seen.push(edition), quiet);
  expect(rebuilt).toMatchObject({ edition: 3, indexName: here.indexName, rows: 3 });
  expect(seen).toEqual([1, 2, 3]);
  expect(harness.workFiles(`${harness.folder}/there`)).toEqual(files);
  await harness.publish([person, company, other]);
  const missing = { ...harness.next(), workDir: `${harness.folder}/nowhere` };
  await expect(runInChild('compare', missing, () => {}, quiet)).rejects.toMatchObject({ code: 'index_missing' });
});
