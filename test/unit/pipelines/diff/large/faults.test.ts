import { existsSync, readdirSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CompareError } from '../../../../../pipelines/changes/errors.ts';
import type { ChangeRecord } from '../../../../../pipelines/changes/record.ts';
import { runInChild } from '../../../../../pipelines/diff/child.ts';
import { compareEdition } from '../../../../../pipelines/diff/large/compare.ts';
import { ReadingThread } from '../../../../../pipelines/diff/large/reading.ts';
import { maxLineBytes, maxRowBytes } from '../../../../../pipelines/diff/large/scan.ts';
import { rucOfKey } from '../../../../../pipelines/registers/ruc-key.ts';
import { encodeWindows1252 } from '../../../../../pipelines/registers/windows-1252.ts';
import { registerNames, registers } from '../../../../../schemas/registers.ts';
import { officialExampleLines } from '../../../../fixtures/padron-reducido/examples.ts';
import { type Fault, writeFault } from '../../../../fixtures/padron-reducido/faults.ts';
import { Harness, readContainer } from './harness.ts';

let harness: Harness;
beforeEach(() => {
  harness = new Harness();
});
afterEach(() => harness.remove());

// The faults change the first row, which is a company here.
const rows = [...officialExampleLines.slice(1, 7), officialExampleLines[0]];
const publishFault = async (fault: Fault) => {
  await harness.publish(rows);
  await writeFault(fault, harness.publicationPath, rows);
  return harness.compare();
};

describe('a publication that cannot be compared', () => {
  it.each<[Fault, string, RegExp]>([
    ['html', 'zip_invalid', /web page \(HTML\)/],
    ['truncated', 'zip_invalid', /cut off/],
    ['bad_crc', 'zip_crc', /CRC-32/],
    ['damaged_data', 'zip_crc', /damaged/],
    ['wrong_size', 'zip_size', /less than the \d+ bytes/],
    ['no_txt', 'zip_entry', /no entry named like/],
    ['two_txt', 'zip_entry', /2 entries named like .* 2 of them may be the register's text/],
    ['two_known', 'zip_entry', /2 entries named like/],
    ['trailing_bytes', 'zip_invalid', /whole zip with 15 bytes after its end/],
    ['folder_in_name', 'zip_entry', /in a folder/],
    ['empty_text', 'empty', /not even a header/],
    ['header_changed', 'header_changed', /column 5 is not called UBIGEO/],
    ['column_added', 'header_changed', /16 columns, expected 15/],
    ['no_header', 'header_changed', /the first line is a row/],
    ['utf8', 'header_changed', /UTF-8 instead of Windows-1252/],
  ])('%s → %s', async (fault, code, message) => {
    const failure = await publishFault(fault).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CompareError);
    expect(failure).toMatchObject({ code, isPublicationFault: true, retryable: false });
    expect((failure as CompareError).message).toMatch(message);
    for (const row of rows) expect((failure as CompareError).message).not.toContain(row.split('|')[1]!);
    // WORK_DIR holds index and rows of edition 1 and nothing else.
    expect(readdirSync(harness.workDir).sort()).toEqual(
      ['index', 'rows'].map((kind) => `${harness.editions[0]!.indexName}.${kind}`),
    );
    expect(readdirSync(harness.outputDir)).toHaveLength(1);
  });

  it('declares more text than is allowed, or inflates to more than it declares', async () => {
    await harness.publish(rows);
    await expect(harness.compare({ edition: 2 }, { maxTextBytes: 100 })).rejects.toMatchObject({
      code: 'zip_size',
    });
  });
});

describe('a publication without rows', () => {
  it.each([
    ['a header alone', [], /a header and no line/],
    ['lines of which none is a row', ['|||', '123|X|'], /2 lines and no row among them/],
  ])('%s is refused, and the register stays as it is', async (_what, lines, message) => {
    await harness.publish(rows);
    await expect(harness.publish(lines)).rejects.toMatchObject({ code: 'empty', message, isPublicationFault: true });
    expect(await harness.publish(rows)).toMatchObject({ unchanged: 7, deleted: 0 });
  });
});

describe('a publication that compares, for the gates to judge', () => {
  it('sixty percent of the rows', async () => {
    expect(await publishFault('sixty_percent')).toMatchObject({ rows: 5, deleted: 2, stateRows: 5 });
  });
  it('every name changed', async () => {
    const result = await publishFault('every_name_changed');
    expect(result).toMatchObject({ updated: 7, changedByColumn: { nombre: 7, estado: 0 } });
    expect(result.changedByKind.company.changedByColumn.nombre).toBe(5);
  });
  it('an empty name', async () => {
    expect(await publishFault('empty_name')).toMatchObject({ emptyNames: 1, updated: 0, keptCells: 1 });
  });
  it('a bad check digit', async () => {
    const result = await publishFault('bad_check_digit');
    expect(result).toMatchObject({ rejectedByReason: { ruc_check_digit: 1 }, kept: 1, deleted: 0 });
  });
  it('the line of a known RUC broken', async () => {
    const result = await publishFault('broken_line');
    expect(result).toMatchObject({ rejectedByReason: { cell_count: 1 }, kept: 1, deleted: 0, stateRows: 7 });
  });
  it('UTF-8 in the rows alone: read as it stands, so every accented name differs', async () => {
    const accented = rows.filter((row) => /[^\u0020-\u007f]/.test(row)).length;
    expect(await publishFault('utf8_rows')).toMatchObject({ rejected: 0, updated: accented });
  });
  it('a RUC twice', async () => {
    const result = await publishFault('duplicate');
    expect(result).toMatchObject({ duplicates: 1, updated: 1, changedByColumn: { nombre: 1 }, rows: 7 });
    expect(harness.rejects(result)).toMatchObject([{ line: 9, reason: 'duplicate' }]);
  });
  it('a RUC of no known prefix', async () => {
    const result = await publishFault('other_prefix');
    expect(result).toMatchObject({ rejectedByReason: { ruc_prefix: 1 }, unchanged: 7, deleted: 0 });
    expect(harness.rejects(result)).toMatchObject([{ line: 2, reason: 'ruc_prefix' }]);
  });
});

describe('with inflating on a thread of its own', () => {
  const limits = { minThreadTextBytes: 1 };

  it('finds the same', async () => {
    const lines = Array.from(
      { length: 60_000 },
      (_, index) => `${rucOfKey(index * 7_001)}|N ${index}|A|H|${'-|'.repeat(11)}`,
    );
    const here = await harness.publish(lines);
    expect(await harness.compare({ base: null, edition: 1, detectedAt: 1_790_000_000_001 }, limits)).toEqual(here);
  });

  it('brings a fault back as the same typed error, and a vanished file as an error', async () => {
    await harness.publish(rows);
    await writeFault('bad_crc', harness.publicationPath, rows);
    await expect(harness.compare({}, limits)).rejects.toMatchObject({ code: 'zip_crc', isPublicationFault: true });
    await harness.publish(rows);
    const input = harness.next();
    const vanish = () => rmSync(harness.publicationPath, { force: true });
    await expect(compareEdition(input, vanish, new AbortController().signal, limits)).rejects.toThrow(/ENOENT/);
  });

  it('ends with an error when the thread dies', async () => {
    await harness.publish(rows);
    const limits = { maxTextBytes: 1e9, maxEntries: 10 };
    const thread = new ReadingThread('padron_reducido', harness.publicationPath, limits);
    const pieces = thread.pieces();
    await thread.close();
    const readAll = async () => {
      for await (const piece of pieces) expect(piece.length).toBeGreaterThan(0);
    };
    await expect(readAll()).rejects.toThrow('ended early');
  });
});

describe('in a child process', () => {
  const quiet = new AbortController().signal;

  it('gives the same answer as this process, with progress and usage', async () => {
    const here = await harness.publish(rows);
    const phases: string[] = [];
    const input = harness.next({ base: null, edition: 1, detectedAt: 1_790_000_000_001 });
    const { usage, ...result } = await runInChild('compare', input, ({ phase }) => phases.push(phase), quiet);
    expect(result).toEqual(here);
    expect(phases).toEqual(expect.arrayContaining(['index', 'scan', 'finish']));
    expect(usage.peakRssBytes).toBeGreaterThan(10e6);
  });

  it('brings a fault back as the same typed error', async () => {
    await writeFault('bad_crc', harness.publicationPath, rows);
    const failure = await runInChild('compare', harness.next(), () => {}, quiet).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CompareError);
    expect(failure).toMatchObject({ code: 'zip_crc', isPublicationFault: true });
  });

  it('is killed on abort, and has ended when the promise rejects', async () => {
    await harness.publish(rows);
    const stop = new AbortController();
    const run = runInChild('compare', harness.next(), () => stop.abort(new Error('asked to stop')), stop.signal);
    await expect(run).rejects.toThrow('asked to stop');
    await expect(runInChild('compare', harness.next(), () => {}, stop.signal)).rejects.toThrow('asked to stop');
  });

  it('distinguishes a crash from a fault: an unusable folder is not the publication’s fault', async () => {
    await harness.publish(rows);
    const input = harness.next({ outputDir: `${harness.publicationPath}/not-a-folder` });
    const failure = await runInChild('compare', input, () => {}, quiet).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'compare_crashed', retryable: true, isPublicationFault: false });
    expect(existsSync(harness.publicationPath)).toBe(true);
  });
});

/** Lines of companies in the order of their RUCs. Characters such as € take one byte in a line and three in UTF-8. */
const lineOf = (at: number, nombre: string, ubigeo: string, via: string) =>
  encodeWindows1252(`${rucOfKey(400_000_000 + at)}|${nombre}|ACTIVO|HABIDO|${ubigeo}|AV.|${via}|${'-|'.repeat(8)}`);

it('keeps every byte of merged rows that are longer than a line and full of characters of three bytes in UTF-8', async () => {
  const longs = Array.from({ length: 300 }, (_, at) => '\u20ac'.repeat(880 + (at % 30)));
  await harness.publish(longs.map((long, at) => lineOf(at, long, '150101', '')));
  // The names are kept from the edition before, so these rows are longer than any line, before and after.
  await harness.publish(longs.map((long, at) => lineOf(at, '', '150102', long)));
  const { changeFile } = await harness.publish(longs.map((long, at) => lineOf(at, '', '150103', long)));
  const changes = await readContainer<ChangeRecord>(changeFile.path);
  expect(changes).toHaveLength(longs.length);
  for (const [at, { before, after }] of changes.entries()) {
    const long = longs[at]!;
    expect(before).toMatchObject({ nombre: long, ubigeo: '150102', nombre_via: long });
    expect(after).toMatchObject({ nombre: long, ubigeo: '150103', nombre_via: long });
  }
  expect(harness.workFiles(await harness.rebuild())).toEqual(harness.workFiles());
});

it('reads a row that is longer than a line from among rows that it need not read', async () => {
  const long = 'A'.repeat(900);
  const others = Array.from({ length: 100 }, (_, at) => lineOf(at + 1, `EMPRESA ${at}`, '150101', 'LIMA'));
  await harness.publish([lineOf(0, long, '150101', ''), ...others]);
  await harness.publish([lineOf(0, '', '150101', long), ...others]);
  expect(await harness.publish([lineOf(0, '', '150102', long), ...others])).toMatchObject({
    updated: 1,
    unchanged: 100,
  });
});

it('allows for every cell of a register that may come from an earlier line', () => {
  const kept = registerNames.map((name) => registers[name].columns.filter(({ keepsPrevious }) => keepsPrevious).length);
  expect((Math.max(...kept) + 1) * maxLineBytes).toBe(maxRowBytes);
});
