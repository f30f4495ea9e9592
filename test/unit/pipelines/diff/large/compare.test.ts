import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { entryName, writeZip } from '../../../../../deploy/local/demo/register/publication.ts';
import { openChangeFile, recordsOf } from '../../../../../pipelines/changes/change-file.ts';
import type { ChangeRecord } from '../../../../../pipelines/changes/record.ts';
import { compareEdition } from '../../../../../pipelines/diff/large/compare.ts';
import { header } from '../../../../../pipelines/registers/padron-reducido.ts';
import { rucOfKey } from '../../../../../pipelines/registers/ruc-key.ts';
import { encodeWindows1252 } from '../../../../../pipelines/registers/windows-1252.ts';
import { officialExampleLines } from '../../../../fixtures/padron-reducido/examples.ts';
import { joinLines } from '../../../../support/registers/lines.ts';
import { Harness, readContainer } from './harness.ts';
import { rowOf } from './model.ts';

let harness: Harness;
beforeEach(() => {
  harness = new Harness();
});
afterEach(() => harness.remove());

const examples: string[] = [...officialExampleLines];
const withCell = (line: string, cell: number, value: string) =>
  line
    .split('|')
    .map((old, at) => (at === cell ? value : old))
    .join('|');
const [person, company, other] = examples as [string, string, string];
const strip = ({ op, ruc, before, after, line }: ChangeRecord) => ({ op, ruc, before, after, line });

describe('a first edition', () => {
  it('is a baseline of every row, in RUC order, readable by any Avro reader', async () => {
    const result = await harness.publish(examples);
    expect(result).toMatchObject({ lines: 8, rows: 8, stateRows: 8, baseline: 8, inserted: 0, updated: 0, deleted: 0 });
    expect(result).toMatchObject({ rejected: 0, duplicates: 0, emptyNames: 1, rejectFile: null, overlayFile: null });
    expect(result.rowsByKind).toEqual({ 10: 1, 15: 1, 20: 6 });
    const changes = await readContainer<ChangeRecord>(result.changeFile.path);
    const sorted = [...examples].sort();
    expect(changes.map(strip)).toEqual(
      sorted.map((line) => ({
        op: 'r',
        ruc: line.slice(0, 11),
        before: null,
        after: rowOf(encodeWindows1252(line)),
        line: examples.indexOf(line) + 2,
      })),
    );
    expect(changes.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(changes[0]).toMatchObject({ edition: 1, detected_at: 1_790_000_000_001, corrects: null });
    expect(changes[0]!.after!.nombre).toBe('ÑAHUIS QUISPE ÁNGEL');
    const bytes = readFileSync(result.changeFile.path);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(result.changeFile.sha256);
    expect(bytes.length).toBe(result.changeFile.bytes);
  });

  it('counts empty cells by column, without changing them', async () => {
    const result = await harness.publish(examples);
    const cells = examples.map((line) => line.split('|').slice(1, 15));
    const empty = (column: number) =>
      cells.filter((row) => ['', '-', '--', '----', '-.-'].includes(row[column]!)).length;
    expect(Object.values(result.emptyByColumn)).toEqual(result.columns.map((_, column) => empty(column)));
    expect(result.emptyByColumn).toMatchObject({ nombre: 1, tipo_zona: 5, nombre_zona: 5 });
  });

  it('counts rows by reading them, so that a file of short lines does not count for fewer', async () => {
    const lines = Array.from(
      { length: 5_000 },
      (_, index) => `${rucOfKey(400_000_000 + index * 7)}|N|A|H|${'|'.repeat(11)}`,
    );
    const result = await harness.publish(lines);
    expect(result).toMatchObject({ lines: 5_000, rows: 5_000, baseline: 5_000 });
    expect(result.changedByKind.company.rows).toBe(5_000);
  });
});

describe('a later edition', () => {
  it('holds exactly the rows that appear, differ and disappear', async () => {
    await harness.publish([person, company, other]);
    const changed = withCell(company, 2, 'BAJA DE OFICIO');
    const result = await harness.publish([examples[4]!, changed, person]);
    const changes = await readContainer<ChangeRecord>(result.changeFile.path);
    const row = (line: string) => rowOf(encodeWindows1252(line));
    expect(changes.map(strip)).toEqual([
      { op: 'u', ruc: '20990000019', before: row(company), after: row(changed), line: 3 },
      { op: 'd', ruc: '20990000027', before: row(other), after: null, line: null },
      { op: 'c', ruc: '20990000043', before: null, after: row(examples[4]!), line: 2 },
    ]);
    expect(result).toMatchObject({ inserted: 1, updated: 1, deleted: 1, unchanged: 1, stateRows: 3 });
    expect(result.changedByColumn).toMatchObject({ estado: 1, nombre: 0 });
    expect(result.changedByKind.company).toMatchObject({ rows: 2, inserted: 1, updated: 1, deleted: 1 });
    expect(result.changedByKind.company.changedByColumn.estado).toBe(1);
    expect(result.changedByKind.other).toMatchObject({ rows: 1, inserted: 0, updated: 0, deleted: 0 });
  });

  it('is empty for the same rows in another order, with other line ends, without the last line end', async () => {
    await harness.publish(examples);
    expect(await harness.publish([...examples].reverse(), '\r\n')).toMatchObject({
      unchanged: 8,
      updated: 0,
      deleted: 0,
    });
    const text = joinLines([header, ...examples]);
    const content = text.subarray(0, text.length - 1);
    await writeZip(harness.publicationPath, [{ name: entryName, content }], 6);
    const result = await harness.compare();
    expect(result).toMatchObject({ lines: 8, unchanged: 8, updated: 0, deleted: 0 });
    expect(await readContainer(result.changeFile.path)).toEqual([]);
  });

  it('keeps a known RUC whose line is bad, and lists it', async () => {
    await harness.publish([person, company, other]);
    const broken = company.replace('ACTIVO', 'AC|TIVO');
    const wrongDigit = other.replace('20990000027', '20990000028');
    const result = await harness.publish([person, broken, wrongDigit]);
    expect(result).toMatchObject({ deleted: 0, updated: 0, kept: 2, rejected: 2, rows: 1, stateRows: 3 });
    expect(result.rejectedByReason).toEqual({ cell_count: 1, ruc_check_digit: 1 });
    const overlay = await readContainer(result.overlayFile!.path);
    const row = (line: string) => rowOf(encodeWindows1252(line));
    expect(overlay).toEqual([
      { ruc: '20990000019', reason: 'bad_line', line: null, row: row(company) },
      { ruc: '20990000027', reason: 'bad_line', line: null, row: row(other) },
    ]);
    expect(harness.rejects(result)).toEqual([
      { line: 3, reason: 'cell_count', raw: broken },
      { line: 4, reason: 'ruc_check_digit', raw: wrongDigit },
    ]);
    expect(await harness.publish([person, company, other])).toMatchObject({ unchanged: 3, kept: 0, inserted: 0 });
  });

  it('keeps the previous name, estado and condicion where a known RUC has none, and takes other empty cells', async () => {
    await harness.publish([person, company]);
    const emptied = withCell(withCell(company, 1, ''), 3, '');
    const unchanged = await harness.publish([person, emptied]);
    expect(unchanged).toMatchObject({ updated: 0, unchanged: 2, keptCells: 1, emptyNames: 1 });
    const overlay = await readContainer(unchanged.overlayFile!.path);
    expect(overlay).toEqual([
      { ruc: '20990000019', reason: 'empty_cell', line: 3, row: rowOf(encodeWindows1252(company)) },
    ]);
    const moved = await harness.publish([person, withCell(withCell(emptied, 4, '010202'), 5, '')]);
    const [change] = await readContainer<ChangeRecord>(moved.changeFile.path);
    expect(change).toMatchObject({
      op: 'u',
      after: { nombre: 'COMERCIAL PRUEBA UNO S.A.C.', ubigeo: '010202', tipo_via: '' },
    });
    expect(moved.changedByColumn).toMatchObject({ nombre: 0, condicion: 0, ubigeo: 1, tipo_via: 1 });
  });

  it('serves a new RUC without a name, and its first name is a change', async () => {
    await harness.publish([person]);
    const added = await harness.publish([person, examples[7]!]);
    expect(added).toMatchObject({ inserted: 1, emptyNames: 1, overlayFile: null });
    const named = await harness.publish([person, withCell(examples[7]!, 1, 'YA TIENE NOMBRE')]);
    const [change] = await readContainer<ChangeRecord>(named.changeFile.path);
    expect(change).toMatchObject({ op: 'u', before: { nombre: '' }, after: { nombre: 'YA TIENE NOMBRE' } });
  });

  it('takes the last of repeated lines and lists the repeats, wherever they stand', async () => {
    await harness.publish([person, company]);
    const renamed = withCell(company, 1, 'OTRO NOMBRE');
    const fresh = withCell(other, 1, 'NUEVO');
    const back = await harness.publish([renamed, person, company, other, fresh]);
    expect(back).toMatchObject({ updated: 0, inserted: 1, duplicates: 2, rows: 3, lines: 5, rejected: 0 });
    expect(harness.rejects(back).map(({ line, reason }) => [line, reason])).toEqual([
      [4, 'duplicate'],
      [6, 'duplicate'],
    ]);
    expect((await readContainer<ChangeRecord>(back.changeFile.path))[0]!.after!.nombre).toBe('NUEVO');
    const forth = await harness.publish([company, person, fresh, renamed]);
    expect(forth).toMatchObject({ updated: 1, duplicates: 1 });
  });

  it('reads control bytes as spaces, lists the line, and sees no change in it the next day', async () => {
    await harness.publish([person, company]);
    const raw = withCell(company, 1, 'COMERCIAL\tPRUEBA\0UNO S.A.C.');
    const clean = withCell(company, 1, 'COMERCIAL PRUEBA UNO S.A.C.');
    const fresh = withCell(withCell(other, 1, '\0\0'), 4, '\t');
    const first = await harness.publish([person, raw, fresh]);
    expect(first).toMatchObject({ repaired: 2, rejected: 0, kept: 0, rows: 3, inserted: 1, updated: 0, unchanged: 2 });
    expect(first.rejectedByReason).toEqual({ control_byte: 2 });
    expect(harness.rejects(first)).toEqual([
      { line: 3, reason: 'control_byte', raw },
      { line: 4, reason: 'control_byte', raw: fresh },
    ]);
    const [change] = await readContainer<ChangeRecord>(first.changeFile.path);
    expect(change).toMatchObject({ op: 'c', ruc: '20990000027', after: { nombre: '  ', ubigeo: ' ' } });
    expect(await harness.publish([fresh, person, raw])).toMatchObject({ repaired: 2, unchanged: 3, updated: 0 });
    expect(await harness.publish([person, clean, fresh])).toMatchObject({ repaired: 1, unchanged: 3, updated: 0 });
    // A repeat is a repeat whichever line was repaired, and the last line counts.
    const renamed = withCell(company, 1, 'OTRO\tNOMBRE');
    const last = await harness.publish([renamed, person, clean, fresh]);
    expect(last).toMatchObject({ duplicates: 1, repaired: 2, updated: 0, unchanged: 3 });
    expect(await harness.publish([clean, person, renamed, fresh])).toMatchObject({ duplicates: 1, updated: 1 });
  });

  it('sees no change between two undefined bytes, which are one character', async () => {
    const raw = (byte: number) =>
      Uint8Array.from(encodeWindows1252(withCell(company, 1, 'AXB')), (b) => (b === 88 ? byte : b));
    const first = await harness.publish([raw(0x9d)]);
    expect((await readContainer<ChangeRecord>(first.changeFile.path))[0]!.after!.nombre).toBe('A\ufffdB');
    expect(await harness.publish([raw(0x8d)])).toMatchObject({ updated: 0, unchanged: 1, overlayFile: null });
  });
});

describe('a run', () => {
  it('gives the same bytes when it is repeated', async () => {
    await harness.publish(examples);
    const first = await harness.publish(examples.slice(2));
    const files = harness.workFiles();
    const again = await harness.compare({
      base: { edition: 1, changeFileSha256: harness.editions[0]!.changeFile.sha256 },
      edition: 2,
      detectedAt: 1_790_000_000_002,
    });
    expect(again).toEqual(first);
    expect(harness.workFiles()).toEqual(files);
  });

  it('keeps the working files of the last two editions and no attempts', async () => {
    for (const name of ['A', 'B', 'C', 'D']) await harness.publish([person, withCell(company, 1, name)]);
    const [one, two, three, four] = harness.editions.map(({ changeFile }) => changeFile.sha256);
    const rows = [one, two, three, four].map((sha256) => `padron_reducido.${sha256}.rows`);
    const indexes = [three, four].map((sha256) => `padron_reducido.${sha256}.index`);
    expect(readdirSync(harness.workDir).sort()).toEqual([...rows, ...indexes].sort());
    expect(readdirSync(harness.outputDir).filter((name) => name.includes('attempt'))).toEqual([]);
  });

  it('refuses a damaged index and a damaged row', async () => {
    await harness.publish(examples);
    const { sha256 } = harness.editions[0]!.changeFile;
    const index = join(harness.workDir, `padron_reducido.${sha256}.index`);
    const rows = join(harness.workDir, `padron_reducido.${sha256}.rows`);
    const [goodIndex, goodRows] = [readFileSync(index), readFileSync(rows)];
    await expect(
      harness.compare({ base: { edition: 1, changeFileSha256: '0'.repeat(64) }, edition: 2 }),
    ).rejects.toMatchObject({
      code: 'index_missing',
    });
    const flipped = Buffer.from(goodIndex);
    flipped[flipped.length - 5]! ^= 1;
    writeFileSync(index, flipped);
    await expect(harness.publish([person])).rejects.toMatchObject({ code: 'index_damaged', message: /checksum/ });
    truncateSync(index, 1000);
    await expect(harness.publish([person])).rejects.toMatchObject({ code: 'index_damaged' });
    writeFileSync(index, goodIndex);
    writeFileSync(rows, Buffer.from(goodRows.map((byte) => (byte === 0x41 ? 0x42 : byte))));
    await expect(harness.publish([person])).rejects.toMatchObject({ code: 'index_damaged' });
    truncateSync(rows, 10);
    await expect(harness.publish([person])).rejects.toMatchObject({ code: 'index_damaged' });
    writeFileSync(rows, goodRows);
    expect(await harness.publish([person])).toMatchObject({ deleted: 7 });
    expect(readdirSync(harness.workDir).filter((name) => name.includes('attempt'))).toEqual([]);
  });

  it('ends when it is aborted and leaves no unfinished file', async () => {
    await harness.publish(examples);
    const stop = new AbortController();
    const run = compareEdition(harness.next(), () => stop.abort(new Error('asked to stop')), stop.signal);
    await expect(run).rejects.toThrow('asked to stop');
    expect(readdirSync(harness.workDir)).toHaveLength(2);
  });
});

describe('a change file', () => {
  it('gives each record as a slice that decodes alone, and goes on from a block', async () => {
    const lines = Array.from(
      { length: 9_000 },
      (_, index) => `${rucOfKey(index * 50_001)}|NOMBRE ${index}|A|H|-|-|-|-|-|-|-|-|-|-|-|`,
    );
    const result = await harness.publish(lines);
    const file = await openChangeFile(result.changeFile.path);
    const rucs: string[] = [];
    const starts: number[] = [];
    for await (const block of file.blocks()) {
      starts.push(block.next);
      let expected = 0;
      for (const record of recordsOf(block)) {
        expect([record.operation, record.start]).toEqual(['r', expected]);
        expected = record.at;
        rucs.push(record.key());
      }
      expect(expected).toBe(block.bytes.length);
    }
    expect(rucs).toEqual(lines.map((line) => line.slice(0, 11)));
    expect(starts.length).toBeGreaterThan(2);
    let rest = 0;
    for await (const block of file.blocks(starts[0])) rest += block.count;
    const first = await file.blocks().next();
    expect(rest).toBe(9_000 - (first.value as { count: number }).count);
    await file.close();
    truncateSync(result.changeFile.path, result.changeFile.bytes - 3);
    const cut = await openChangeFile(result.changeFile.path);
    const readAll = async () => {
      for await (const block of cut.blocks()) expect(block.count).toBeGreaterThan(0);
    };
    await expect(readAll()).rejects.toMatchObject({ code: 'change_file_damaged' });
    await cut.close();
  });
});
