import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeRecords } from '../../../../../pipelines/changes/change-file.ts';
import type { ChangeRecord } from '../../../../../pipelines/changes/record.ts';
import { changesOf, listHeader, overlayOf, SmallHarness } from './harness.ts';

let harness: SmallHarness;
beforeEach(() => {
  harness = new SmallHarness('agentes_retencion');
});
afterEach(() => harness.remove());

const line = (ruc: string, name: string) => `${ruc}|${name}|01/01/2020|RS 1|`;
const row = (name: string) => [name, '2020-01-01', 'RS 1'];
const [ana, stays, changes, goes, comes] = [
  '10990000013',
  '20990000001',
  '20990000019',
  '20990000027',
  '20990000060',
] as const;

/** Publishes two editions. The second changes one row, ends one and adds one. */
async function twoEditions(): Promise<void> {
  await harness.publish([listHeader, line(stays, 'S'), line(changes, 'A'), line(goes, 'G')]);
  await harness.publish([listHeader, line(stays, 'S'), line(changes, 'B'), line(comes, 'C')]);
}

describe('a correction', () => {
  it('restores the rows that an edition changed, ended and added, and names that edition', async () => {
    await twoEditions();
    const result = await harness.correct(2);
    expect(await changesOf(result)).toEqual([
      { op: 'u', key: changes, before: row('B'), after: row('A'), line: null },
      { op: 'c', key: goes, before: null, after: row('G'), line: null },
      { op: 'd', key: comes, before: row('C'), after: null, line: null },
    ]);
    for await (const { corrects, edition } of decodeRecords<ChangeRecord>(result.changeFile.path))
      expect([edition, corrects]).toEqual([3, 2]);
    expect(result).toMatchObject({
      conflicts: 0,
      conflictFile: null,
      inserted: 1,
      updated: 1,
      deleted: 1,
      stateRows: 3,
    });
    expect(await overlayOf(result)).toEqual([
      { key: changes, reason: 'correction', line: null, row: row('A') },
      { key: goes, reason: 'correction', line: null, row: row('G') },
      { key: comes, reason: 'correction', line: null, row: null },
    ]);
  });

  it('leaves rows that were changed since and lists them', async () => {
    await harness.publish([listHeader, line(stays, 'S'), line(goes, 'G'), line(changes, 'A'), line(ana, 'A')]);
    await harness.publish([listHeader, line(stays, 'S'), line(changes, 'B'), line(ana, 'B'), line(comes, 'C')]);
    await harness.publish([listHeader, line(stays, 'S'), line(goes, 'G'), line(changes, 'X'), line(ana, 'B')]);
    const result = await harness.correct(2);
    expect(await changesOf(result)).toEqual([{ op: 'u', key: ana, before: row('B'), after: row('A'), line: null }]);
    expect(result).toMatchObject({ conflicts: 3, stateRows: 4, unchanged: 3 });
    const conflicts = readFileSync(result.conflictFile!.path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((one) => JSON.parse(one));
    expect(conflicts).toEqual([
      { edition: 2, ruc: changes, reason: 'changed_again' },
      { edition: 2, ruc: goes, reason: 'came_back' },
      { edition: 2, ruc: comes, reason: 'gone' },
    ]);
    expect(result.conflictFile!.path).toContain(`agentes_retencion.4.conflicts.${result.changeFile.sha256}.ndjson`);
  });

  it("carries the head's overlay on, but for the rows that it rewrites", async () => {
    await twoEditions();
    const bad = (ruc: string) => `${ruc}|BAD|`;
    const third = await harness.publish([listHeader, line(comes, 'C'), bad(stays), bad(changes)]);
    const result = await harness.correct(2, third.overlayFile!.path);
    expect(await overlayOf(result)).toEqual([
      { key: stays, reason: 'bad_line', line: null, row: row('S') },
      { key: changes, reason: 'correction', line: null, row: row('A') },
      { key: goes, reason: 'correction', line: null, row: row('G') },
      { key: comes, reason: 'correction', line: null, row: null },
    ]);
  });

  it('is a base like any other, and can itself be undone', async () => {
    await twoEditions();
    const correction = await harness.correct(2);
    await harness.correct(3, correction.overlayFile!.path);
    const same = await harness.publish([listHeader, line(stays, 'S'), line(changes, 'B'), line(comes, 'C')]);
    expect(same).toMatchObject({ unchanged: 3, inserted: 0, updated: 0, deleted: 0, overlayFile: null });
  });

  it('is refused for an edition that states every row, and for a file of another edition', async () => {
    await twoEditions();
    await expect(harness.correct(1)).rejects.toMatchObject({ code: 'not_correctable', isPublicationFault: false });
    harness.editions[0] = harness.editions[1]!;
    await expect(harness.correct(1)).rejects.toMatchObject({ code: 'change_file_damaged' });
  });
});
