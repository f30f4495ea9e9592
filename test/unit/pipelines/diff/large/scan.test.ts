import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KernelMemory } from '../../../../../pipelines/diff/kernel/kernel.ts';
import { newPage, type Page, scanRows } from '../../../../../pipelines/diff/large/pages.ts';
import {
  blankControlBytes,
  cellEnds,
  hashOfRow,
  problemOfLine,
  slackBytes,
} from '../../../../../pipelines/diff/large/scan.ts';
import { keyAt, noKey, rucOfKey } from '../../../../../pipelines/registers/ruc-key.ts';
import { decodeWindows1252, encodeWindows1252 } from '../../../../../pipelines/registers/windows-1252.ts';
import { padronReducido } from '../../../../../schemas/registers.ts';
import { officialExampleLines } from '../../../../fixtures/padron-reducido/examples.ts';

const page = newPage(new KernelMemory());

/** An empty page of at most `maxRows` lines. It is always the same one. */
function emptyPage(maxRows: number): Page {
  const { rows } = page;
  const keys = new Uint32Array(rows.keys.buffer, rows.keys.byteOffset, maxRows);
  return { ...page, rows: { ...rows, keys, count: 0, emptyNames: 0, repairables: 0 } };
}

const seed = { first: 12, second: 34 };
const bytesOf = (line: string) => Uint8Array.from(line, (character) => character.charCodeAt(0) & 0xff);
const cells = 1 + padronReducido.columns.length;
const problem = (line: Uint8Array) => problemOfLine(line, 0, line.length, cells);
const hasControlByte = (line: Uint8Array) => line.some((byte) => byte < 32);

/** All cells of a good row. The first is the RUC. */
function cellsOf(row: Uint8Array): string[] {
  const ends = new Int32Array(cells);
  cellEnds(row, 0, ends);
  return Array.from(ends, (end, cell) => decodeWindows1252(row, cell === 0 ? 0 : ends[cell - 1]! + 1, end));
}

/** Reads lines with `scanRows`: the key (or null) and the text of each. */
function scanned(lines: readonly Uint8Array[], lineEnd = '\n', rowsPerBatch = 3) {
  const text = Buffer.concat(lines.flatMap((line) => [line, Buffer.from(lineEnd)]));
  page.bytes.fill(text, 0, text.length);
  const found: { key: number | null; line: Uint8Array; hash: [number, number]; isRepairable: boolean }[] = [];
  for (let position = 0; position < text.length; ) {
    const { bytes, rows, ...rest } = emptyPage(rowsPerBatch);
    position = scanRows({ bytes, rows, ...rest }, position, text.length, seed, cells);
    for (let row = 0; row < rows.count; row += 1) {
      const key = rows.keys[row]!;
      const line = Uint8Array.from(bytes.subarray(rows.starts[row], rows.ends[row]));
      const isRepairable = rows.repairable.subarray(0, rows.repairables).includes(row);
      found.push({ key: key === noKey ? null : key, line, hash: [rows.hash1[row]!, rows.hash2[row]!], isRepairable });
    }
  }
  return found;
}

const column = (line: string, name: (typeof padronReducido.columns)[number]['name']) =>
  cellsOf(encodeWindows1252(line))[1 + padronReducido.columns.findIndex((one) => one.name === name)];

describe('lines of the daily register', () => {
  it('takes every official example, the nameless one too', () => {
    const lines = officialExampleLines.map(encodeWindows1252);
    expect(lines.map(problem)).toEqual(lines.map(() => null));
    expect(scanned(lines).map(({ key }) => key && rucOfKey(key))).toEqual(
      officialExampleLines.map((line) => line.slice(0, 11)),
    );
    expect(column(officialExampleLines[7], 'nombre')).toBe('');
  });

  it('reads bytes 0xD1, 0xC1, 0xD3 as Ñ, Á, Ó and leaves ? and quotes alone', () => {
    const raw = bytesOf('10990000013|\xd1AHUIS \xc1NGEL AVIACI\xd3N "X ?\'|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|');
    expect(problem(raw)).toBeNull();
    expect(cellsOf(raw)[1]).toBe('ÑAHUIS ÁNGEL AVIACIÓN "X ?\'');
    expect(cellsOf(encodeWindows1252(officialExampleLines[3]))[1]).toContain('     "FICTISUR S.A."');
  });

  it('shows the five undefined bytes as U+FFFD and the punctuation of Windows-1252 as it is', () => {
    expect(decodeWindows1252(Uint8Array.of(0x81, 0x8d, 0x8f, 0x90, 0x9d), 0, 5)).toBe('\ufffd'.repeat(5));
    expect(decodeWindows1252(Uint8Array.of(0x91, 0x96, 0xb4, 0xa0, 0x80), 0, 5)).toBe('‘–´\u00a0€');
    const all = Uint8Array.from({ length: 224 }, (_, index) => index + 32);
    const again = encodeWindows1252(decodeWindows1252(all, 0, all.length));
    expect(decodeWindows1252(again, 0, again.length)).toBe(decodeWindows1252(all, 0, all.length));
  });

  it.each([20515397290, 20990000060, 20990000001])('takes %i, whose check digit stands for 10 or 11', (ruc) => {
    expect(problem(bytesOf(`${ruc}|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|`))).toBeNull();
  });

  it('puts lot, flat, block, kind and name of zone where they belong', () => {
    const line = officialExampleLines[4];
    expect([column(line, 'lote'), column(line, 'dpto'), column(line, 'manzana')]).toEqual(['12', '901', 'B2']);
    expect([column(line, 'tipo_zona'), column(line, 'nombre_zona'), column(line, 'kilometro')]).toEqual([
      'Z.I.',
      '-.-',
      '-',
    ]);
  });

  it('keeps leading zeros of ubigeo and number', () => {
    const line = '20990000019|X|ACTIVO|HABIDO|010202|AV.|Y|-|-|055|-|-|-|-|-|';
    expect([column(line, 'ubigeo'), column(line, 'numero')]).toEqual(['010202', '055']);
  });

  it('keeps cut and unknown states as they are written', () => {
    expect(column(officialExampleLines[4], 'estado')).toBe('BAJA MULT.INSCR. Y O');
    expect(column(officialExampleLines[6], 'estado')).toBe('BAJA PROV. POR OFICI');
    expect(column(officialExampleLines[5], 'estado')).toBe('SUSPENSION TEMPORAL');
  });

  it.each([
    ['123|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|', 'ruc_format'],
    ['00000000123|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|', 'ruc_prefix'],
    ['00990000017|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|', 'ruc_prefix'],
    ['20990000011|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|', 'ruc_check_digit'],
    ['209900000199|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|', 'ruc_format'],
    ['20-99000001-9|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|', 'ruc_format'],
    ['20990000019|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|', 'cell_count'],
    ['20990000019|X|Y|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|', 'cell_count'],
    ...[256, 512, 768].map((more) => [
      `20990000019|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|${'|'.repeat(more)}`,
      'cell_count',
    ]),
    ['20990000019|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|Z', 'text_after_last_cell'],
    ['20990000019|X\tY|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|', 'cell_count'],
    ['20990000019|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|\u0000', 'text_after_last_cell'],
    [`20990000019|${'X'.repeat(1000)}|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|`, 'too_long'],
    ['', 'ruc_format'],
  ])('refuses %s: %s', (line, reason) => {
    expect(problem(bytesOf(line))).toBe(reason);
    expect(scanned([bytesOf(line)]).map(({ key }) => key)).toEqual([null]);
  });

  it('keeps a line with control bytes and lists it as repairable', () => {
    const clean = bytesOf('20990000019|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|');
    for (const inside of ['\0', '\t', '\r', 'A\0\0B\tC']) {
      const raw = bytesOf(`20990000019|X${inside}Y|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|`);
      expect(problem(raw)).toBeNull();
      const [before, found, after] = scanned([clean, raw, clean], '\n', 5);
      expect([before!.key, found!.key, after!.key].map((key) => key && rucOfKey(key))).toEqual(
        Array(3).fill('20990000019'),
      );
      expect([before!.isRepairable, found!.isRepairable, after!.isRepairable]).toEqual([false, true, false]);
      blankControlBytes(raw, 0, raw.length);
      expect(cellsOf(raw)[1]).toBe(`X${inside.replace(/[\0\t\r]/g, ' ')}Y`);
    }
  });

  it('has a key for every RUC, in RUC order, and back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 499_999_999 }), fc.integer({ min: 0, max: 499_999_999 }), (one, other) => {
        const [a, b] = [rucOfKey(one), rucOfKey(other)];
        expect(keyAt(bytesOf(a), 0, 11)).toBe(one);
        expect(Math.sign(one - other)).toBe(a === b ? 0 : a < b ? -1 : 1);
      }),
    );
  });

  it('the fast reader accepts exactly the lines of the plain rule, whatever the bytes', () => {
    const good = fc.constantFrom(...officialExampleLines).map((line) => encodeWindows1252(line));
    const changes = fc.array(
      fc.tuple(fc.nat(200), fc.constantFrom(0, 9, 13, 31, 32, 48, 57, 124, 0x80, 0x81, 0xa0, 0xff)),
      { maxLength: 2 },
    );
    const line = fc.tuple(good, changes, fc.constantFrom(0, 0, 0, -1, 1, 950)).map(([bytes, edits, longer]) => {
      const edited = Uint8Array.from(bytes);
      for (const [at, byte] of edits) edited[at % edited.length] = byte;
      if (longer < 0) return edited.slice(0, longer);
      return Buffer.concat([edited.subarray(0, 14), Buffer.alloc(longer, 'L'), edited.subarray(14)]);
    });
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), fc.constantFrom('\n', '\r\n'), (lines, lineEnd) => {
        // A carriage return at the end of the line is part of the line end.
        const clean = lines.map((one) => (one.at(-1) === 13 ? one.slice(0, -1) : one));
        const found = scanned(clean, lineEnd);
        expect(found.map(({ line: text }) => Buffer.from(text).toString('latin1'))).toEqual(
          clean.map((text) => Buffer.from(text).toString('latin1')),
        );
        expect(found.map(({ key }) => key !== null)).toEqual(clean.map((text) => problem(text) === null));
        for (const { key, line: text, hash, isRepairable } of found) {
          expect(isRepairable).toBe(key !== null && hasControlByte(text));
          if (key === null || isRepairable) continue;
          const padded = Buffer.concat([text, Buffer.alloc(slackBytes, 0xee)]);
          const into = new Int32Array(2);
          hashOfRow(new DataView(new Uint8Array(padded).buffer), 0, text.length, seed, into);
          expect([...into]).toEqual(hash);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('hashes rows that differ in one byte differently', () => {
    const line = encodeWindows1252(officialExampleLines[1]);
    const hashes = new Set<string>();
    for (let at = 12; at < line.length - 1; at += 1) {
      if (line[at] === 124) continue;
      for (let byte = 65; byte < 91; byte += 1) {
        if (byte === line[at]) continue;
        const changed = Uint8Array.from(line);
        changed[at] = byte;
        hashes.add(scanned([changed])[0]!.hash.join());
      }
    }
    const replaced: number[] = [...line.subarray(12, -1)].map((byte) =>
      byte === 124 ? 0 : byte >= 65 && byte < 91 ? 25 : 26,
    );
    expect(hashes.size).toBe(replaced.reduce((sum, count) => sum + count));
  });
});
