import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import avro from 'avsc';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openChangeFile } from '../../../../../pipelines/changes/change-file.ts';
import { ContainerWriter } from '../../../../../pipelines/changes/container-writer.ts';
import type { ChangeRecord } from '../../../../../pipelines/changes/record.ts';
import { changeSchema } from '../../../../../pipelines/changes/schema.ts';
import { rebuildIndex } from '../../../../../pipelines/diff/large/rebuild.ts';
import { header } from '../../../../../pipelines/registers/padron-reducido.ts';
import { encodeWindows1252 } from '../../../../../pipelines/registers/windows-1252.ts';
import { padronReducido } from '../../../../../schemas/registers.ts';
import { officialExampleLines } from '../../../../fixtures/padron-reducido/examples.ts';
import { writeLines } from '../../../../support/registers/lines.ts';
import { Harness, readContainer } from './harness.ts';
import { rowOf } from './model.ts';

let harness: Harness;
const register = padronReducido as { parserVersion: number };
const today = register.parserVersion;
beforeEach(() => {
  harness = new Harness();
});
afterEach(() => {
  register.parserVersion = today;
  harness.remove();
});

const [person, company, other, , acme] = officialExampleLines as unknown as [string, string, string, string, string];
const columns = padronReducido.columns.map(({ name }) => name);
const row = (line: string) => rowOf(encodeWindows1252(line));
const rucOf = (line: string) => line.slice(0, 11);
const opsOf = async (result: { changeFile: { path: string } }) =>
  (await readContainer<ChangeRecord>(result.changeFile.path)).map(({ op, ruc, before, after }) => ({
    ...{ op, ruc, before, after },
  }));

describe('under another parser version', () => {
  /** Makes the head look as if an older parser had read it. */
  async function publishAsBefore(lines: readonly string[]): Promise<void> {
    register.parserVersion = today - 1;
    await harness.publish(lines);
    register.parserVersion = today;
  }

  it('a comparison is refused', async () => {
    await publishAsBefore([person, company]);
    await expect(harness.publish([person, company])).rejects.toMatchObject({
      code: 'parser_changed',
      isPublicationFault: false,
      retryable: false,
    });
  });

  it('every row is repeated, and only a real difference is a change', async () => {
    await publishAsBefore([person, company, other]);
    const publicationPath = harness.keepPublication();
    const renamed = company.replace('COMERCIAL', 'INDUSTRIAL');
    const knownColumns = columns;
    const previous = { publicationPath, overlayPath: null, knownColumns };
    await harness.publish([person, renamed, acme], '\n', { previous });
    const result = harness.editions[1]!;
    expect(result).toMatchObject({ baseline: 1, inserted: 1, updated: 1, deleted: 1, unchanged: 0, stateRows: 3 });
    expect(result.parserVersion).toBe(today);
    expect(await opsOf(result)).toEqual([
      { op: 'r', ruc: rucOf(person), before: null, after: row(person) },
      { op: 'u', ruc: rucOf(company), before: row(company), after: row(renamed) },
      { op: 'd', ruc: rucOf(other), before: row(other), after: null },
      { op: 'c', ruc: rucOf(acme), before: null, after: row(acme) },
    ]);
    const file = await openChangeFile(result.changeFile.path);
    expect(file.header).toMatchObject({ isFull: true, baseSha256: harness.editions[0]!.changeFile.sha256 });
    await file.close();
    // An ordinary edition follows, and both can be rebuilt without the editions before.
    expect(await harness.publish([person, company, acme])).toMatchObject({ updated: 1, unchanged: 2 });
    expect(harness.workFiles(await harness.rebuild(2))).toEqual(harness.workFiles());
    await expect(harness.rebuild(3)).rejects.toMatchObject({ code: 'change_file_damaged' });
  });

  it('a new column is filled without an event; a known one that changed with it is an update', async () => {
    await publishAsBefore([company, other]);
    const publicationPath = harness.keepPublication();
    const knownColumns = columns.filter((name) => name !== 'kilometro');
    const previous = { publicationPath, overlayPath: null, knownColumns };
    const longer = (line: string) => line.replace(/-\|$/, '12.5|');
    await harness.publish([longer(company), longer(other).replace('NO HABIDO', 'HABIDO')], '\n', { previous });
    const [silent, updated] = await opsOf(harness.editions[1]!);
    expect(silent).toMatchObject({ op: 'r', after: { kilometro: '12.5' } });
    expect(updated).toMatchObject({ op: 'u', before: { kilometro: '-', condicion: 'NO HABIDO' } });
    expect(harness.editions[1]!.changedByColumn).toMatchObject({ condicion: 1, kilometro: 0 });
  });

  it('the new publication is compared with the rows that the head kept', async () => {
    register.parserVersion = today - 1;
    await harness.publish([person, company, other]);
    // State and publication differ by a bad line, an empty cell and a row that a correction removed.
    await harness.publish([person.replace('HABIDO', 'HA|BIDO'), company.replace(/\|COM[^|]*\|/, '||'), other]);
    await harness.publish([person.replace('HABIDO', 'HA|BIDO'), company.replace(/\|COM[^|]*\|/, '||'), other, acme]);
    const publicationPath = harness.keepPublication();
    const { overlayFile } = await harness.correct(3);
    register.parserVersion = today;
    const previous = { publicationPath, overlayPath: overlayFile!.path, knownColumns: columns };
    await harness.publish([person, company, other, acme], '\n', { previous });
    expect((await opsOf(harness.editions[4]!)).map(({ op, ruc }) => [op, ruc])).toEqual([
      ['r', rucOf(person)],
      ['r', rucOf(company)],
      ['r', rucOf(other)],
      ['c', rucOf(acme)],
    ]);
  });

  it('a known RUC with a bad line keeps its row, which is repeated', async () => {
    await publishAsBefore([person, company]);
    const previous = { publicationPath: harness.keepPublication(), overlayPath: null, knownColumns: columns };
    await harness.publish([person, company.replace('HABIDO', 'HA|BIDO')], '\n', { previous });
    const result = harness.editions[1]!;
    expect(result).toMatchObject({ baseline: 2, kept: 1, rejected: 1, rows: 1, stateRows: 2, deleted: 0 });
    expect((await opsOf(result))[1]).toEqual({ op: 'r', ruc: rucOf(company), before: null, after: row(company) });
    expect(await readContainer(result.overlayFile!.path)).toEqual([
      { ruc: rucOf(company), reason: 'bad_line', line: null, row: row(company) },
    ]);
  });

  it("faults of the head's publication are not reported as the new one's", async () => {
    await publishAsBefore([person, company]);
    const publicationPath = join(harness.folder, 'unknown-header.zip');
    await writeLines(publicationPath, [header.replace('|UBIGEO|', '|DISTRITO|'), person, company], '\n');
    const previous = { publicationPath, overlayPath: null, knownColumns: columns };
    const refused = { code: 'previous_unreadable', isPublicationFault: false, retryable: false };
    await expect(harness.publish([person, company], '\n', { previous })).rejects.toMatchObject({
      ...refused,
      message: 'The header is not the known one: column 5 is not called UBIGEO.',
    });
    writeFileSync(publicationPath, 'no zip');
    await expect(harness.compare({ previous })).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining('It is not a zip'),
    });
    // A fault of the new publication is still reported as its own.
    writeFileSync(harness.publicationPath, 'no zip');
    await expect(harness.compare({ previous })).rejects.toMatchObject({
      code: 'zip_invalid',
      isPublicationFault: true,
    });
  });

  it('a row that only the other parser took or refused is no event', async () => {
    await publishAsBefore([person, company]);
    // The older parser seems to have refused the row of `other` in the same publication.
    await harness.write([person, company, other]);
    const previous = { publicationPath: harness.keepPublication(), overlayPath: null, knownColumns: columns };
    await harness.publish([person, company, other, acme], '\n', { previous });
    expect((await opsOf(harness.editions[1]!)).map(({ op, ruc }) => [op, ruc])).toEqual([
      ['r', rucOf(person)],
      ['r', rucOf(company)],
      ['r', rucOf(other)],
      ['c', rucOf(acme)],
    ]);
  });
});

it('columns of a head with other columns are found by name', async () => {
  // The program that wrote edition 1 had no `kilometro` and no `manzana`, but a column that no longer exists.
  const old = [...columns.slice(0, -2), 'correo'];
  const cut = (line: string) => ({ ...row(line), correo: 'A@B.PE' });
  const file = writeOldEdition(old, [cut(person), cut(company)], [rucOf(person), rucOf(company)]);
  const workDir = harness.workDir;
  const changeFiles = [{ edition: 1, ...file }];
  const rebuilding = { register: 'padron_reducido', workDir, changeFiles } as const;
  await rebuildIndex(rebuilding, () => {}, new AbortController().signal);
  const base = { edition: 1, changeFileSha256: file.sha256 };
  // Today's parser refuses the line of `person` in the head's publication, so only the index has that row.
  await harness.write([company]);
  const previous = { publicationPath: harness.keepPublication(), overlayPath: null, knownColumns: old };
  await harness.write([company.replace('ACTIVO', 'BAJA DEFINITIVA')]);
  await expect(harness.compare({ base, edition: 2 })).rejects.toMatchObject({ code: 'parser_changed' });
  const result = await harness.compare({ base, edition: 2, previous });
  expect(await opsOf(result)).toEqual([
    { op: 'd', ruc: rucOf(person), before: { ...row(person), manzana: '', kilometro: '' }, after: null },
    {
      op: 'u',
      ruc: rucOf(company),
      before: row(company),
      after: { ...row(company), estado: 'BAJA DEFINITIVA' },
    },
  ]);
});

/** Writes a first edition's change file with rows of these columns. */
function writeOldEdition(names: readonly string[], rows: readonly Record<string, string>[], rucs: readonly string[]) {
  const schema = JSON.parse(JSON.stringify(changeSchema('padron_reducido'))) as { fields: { type: unknown }[] };
  const rowSchema = (schema.fields[4]!.type as [string, { fields: unknown }])[1];
  rowSchema.fields = names.map((name) => ({ name, type: 'string' }));
  const type = avro.Type.forSchema(schema as unknown as avro.Schema);
  const metadata = {
    ...{ 'padron.register': 'padron_reducido', 'padron.edition': '1', 'padron.base': '', 'padron.detected_at': '1' },
    ...{ 'padron.parser_version': '1', 'padron.columns': names.join(), 'padron.hash_seed': '1,2' },
  };
  const folder = harness.folder;
  writeFileSync(join(folder, 'old'), '');
  const container = new ContainerWriter(folder, 'old', schema, metadata, Buffer.alloc(16, 7));
  for (const [seq, after] of rows.entries()) {
    const change = { edition: 1, op: 'r', seq, ruc: rucs[seq], before: null, after, line: seq + 2, detected_at: 1 };
    container.append(type.toBuffer({ ...change, corrects: null }));
  }
  return container.finish((sha256) => `padron_reducido.1.changes.${sha256}.avro`);
}
