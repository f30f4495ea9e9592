import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UndecodableRecord } from '../../../../pipelines/changes/errors.ts';
import type { Change } from '../../../../pipelines/changes/record.ts';
import { TaxpayerRows } from '../../../../pipelines/consumers/taxpayer-rows.ts';
import { padronReducido } from '../../../../schemas/registers.ts';
import { stateKeyOf } from '../../../../schemas/ruc.ts';
import { encodeChange } from '../../../support/registers/change-records.ts';
import { RowBinaryReader } from './row-binary-reader.ts';

const names = padronReducido.columns.map(({ name }) => name);
const cell = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      '',
      'ACTIVO',
      'HABIDO',
      '-',
      'COMPAÑÍA "NIÑO" S.A.C.',
      'A\\B/C',
      '\n\n',
      '\u0000\u001f\u007f',
    ),
  },
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 100, maxLength: 400 }) },
);
const row = fc
  .array(cell, { minLength: names.length, maxLength: names.length })
  .map((cells) => Object.fromEntries(names.map((name, index) => [name, cells[index]!])));
const change: fc.Arbitrary<Change> = fc
  .record({
    edition: fc.integer({ min: 1, max: 2 ** 40 }),
    op: fc.constantFrom('r', 'c', 'u', 'd' as const),
    seq: fc.integer({ min: 0, max: 2 ** 34 }),
    ruc: fc.integer({ min: 10_000_000_000, max: 20_999_999_999 }).map(String),
    before: row,
    after: row,
    line: fc.option(fc.integer({ min: 1, max: 30_000_000 })),
    detectedAt: fc.date({ min: new Date('2020-01-01'), max: new Date('2200-01-01'), noInvalidDate: true }),
    corrects: fc.option(fc.integer({ min: 1, max: 100_000 })),
  })
  .map((made) => ({
    ...made,
    before: made.op === 'u' || made.op === 'd' ? made.before : null,
    after: made.op === 'd' ? null : made.after,
  }));

const asMessages = (changes: readonly Change[]) =>
  changes.map((one, index) => ({ offset: String(index), value: encodeChange(one, 7, 'padron_reducido') }));
const json = (cells: Change['after']) => JSON.stringify(names.map((name) => cells?.[name]));
const opNumber = { c: 1, u: 2, d: 3, r: 4 } as const;

describe('rows straight from Avro bytes', () => {
  test('are the rows that decoding, objects and JSON.stringify would make', () => {
    const rows = new TaxpayerRows();
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
        rows.fill('padron_reducido', asMessages(changes));
        const state = new RowBinaryReader(Buffer.from(rows.state.written()));
        const history = new RowBinaryReader(Buffer.from(rows.history.written()));
        for (const one of changes) {
          expect(state.uint64()).toBe(Number(one.ruc));
          expect(state.uint8()).toBe(1);
          expect(state.uint64()).toBe(one.edition);
          expect(state.uint8()).toBe(one.op === 'd' ? 1 : 0);
          expect(state.string()).toBe(one.after ? json(one.after) : '');
          if (one.op === 'r') continue;
          expect(history.uint64()).toBe(Number(one.ruc));
          expect(history.uint8()).toBe(1);
          expect(history.uint64()).toBe(one.edition);
          expect(history.uint8()).toBe(opNumber[one.op]);
          expect(history.nullable(() => history.string())).toBe(one.before && json(one.before));
          expect(history.nullable(() => history.string())).toBe(one.after && json(one.after));
          expect(history.uint64()).toBe(one.detectedAt.getTime());
          expect(history.nullable(() => history.uint64())).toBe(one.corrects);
        }
        expect(state.atEnd() && history.atEnd()).toBe(true);
        expect(rows.state.rows).toBe(changes.length);
        expect(rows.history.rows).toBe(changes.filter(({ op }) => op !== 'r').length);
      }),
      { numRuns: 400 },
    );
  });

  test('give a supplier its number as key, whatever its id, even with a list of sanctions of 60 kB', () => {
    const sanciones = JSON.stringify(
      Array.from({ length: 400 }, (_, index) => ({ resolucion: `N° ${index}`, motivo: 'x"y'.repeat(30) })),
    );
    const after = { tipo_id: 'documento', sanciones };
    const ids = ['20990000019', '00000012345', '07654321', '7654321', 'Á-901/B', '990000123456', '2099000001X'];
    const rows = new TaxpayerRows();
    rows.fill(
      'sancionados',
      ids.map((ruc, seq) => {
        const one: Change = {
          edition: 2,
          op: 'u',
          seq,
          ruc,
          before: after,
          after,
          line: 2,
          detectedAt: new Date(0),
          corrects: 1,
        };
        return { offset: String(seq), value: encodeChange(one, 7, 'sancionados') };
      }),
    );
    const state = new RowBinaryReader(rows.state.written());
    const packed = JSON.stringify([after.tipo_id, after.sanciones]);
    for (const id of ids) {
      expect(state.uint64()).toBe(stateKeyOf(id));
      expect(state.uint8()).toBe(5);
      expect(state.uint64()).toBe(2);
      expect(state.uint8()).toBe(0);
      expect(state.string()).toBe(packed);
    }
    expect(state.atEnd()).toBe(true);
    expect(stateKeyOf('00000012345')).toBe(12_345);
    expect(new Set(ids.map(stateKeyOf)).size).toBe(ids.length);
  });

  test('refuse a key that is no RUC in a register of RUCs', () => {
    const rows = new TaxpayerRows();
    for (const ruc of ['07654321', '2099000001X', '209900000190', '']) {
      const one = fc.sample(change, { numRuns: 1, seed: 1 })[0]!;
      const value = encodeChange({ ...one, ruc }, 7, 'padron_reducido');
      expect(() => rows.fill('padron_reducido', [{ offset: '4', value }])).toThrow('not eleven digits');
    }
  });

  test('keep every byte of Windows-1252', () => {
    const text = new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, byte) => byte));
    const after = Object.fromEntries(names.map((name) => [name, text]));
    const one: Change = {
      edition: 1,
      op: 'r',
      seq: 0,
      ruc: '20100070970',
      before: null,
      after,
      line: 2,
      detectedAt: new Date(0),
      corrects: null,
    };
    const rows = new TaxpayerRows();
    rows.fill('padron_reducido', asMessages([one]));
    const state = new RowBinaryReader(rows.state.written());
    for (let skipped = 0; skipped < 3; skipped += 1) skipped === 1 ? state.uint8() : state.uint64();
    state.uint8();
    expect(state.string()).toBe(json(after));
  });

  test('report a damaged record with its offset, whatever byte of it is missing or changed', () => {
    const whole = fc.sample(change, { numRuns: 20, seed: 7 });
    const rows = new TaxpayerRows();
    for (const one of whole) {
      const value = encodeChange(one, 7, 'padron_reducido');
      for (const cut of [5, 6, 8, 12, value.length - 1]) {
        const damaged = [
          ...asMessages(whole.slice(0, 2)),
          { offset: '99', value: value.subarray(0, Math.min(cut, value.length - 1)) },
        ];
        expect(() => rows.fill('padron_reducido', damaged)).toThrow(
          expect.objectContaining({ code: 'undecodable_record', offset: '99' }),
        );
      }
    }
  });

  test('refuse random bytes and do nothing else', () => {
    const rows = new TaxpayerRows();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        try {
          rows.fill('padron_reducido', [{ offset: '1', value: Buffer.from([0, 0, 0, 0, 7, ...bytes]) }]);
          return false;
        } catch (error) {
          return error instanceof UndecodableRecord;
        }
      }),
      { numRuns: 3_000 },
    );
  });
});
