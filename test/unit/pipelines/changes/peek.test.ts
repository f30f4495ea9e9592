import fc from 'fast-check';
import { expect, it } from 'vitest';
import { peekChange } from '../../../../pipelines/changes/record.ts';
import { encodeChange } from '../../../support/registers/change-records.ts';

it('reads edition, operation and kind of taxpayer as the codec wrote them', () => {
  const parts = fc.record({
    edition: fc.integer({ min: 1, max: 2 ** 40 }),
    op: fc.constantFrom('r', 'c', 'u', 'd'),
    seq: fc.integer({ min: 0, max: 2 ** 40 }),
    ruc: fc.constantFrom('20990000019', '10458741239', '17458741239', '15458741239'),
  });
  fc.assert(
    fc.property(parts, (drawn) => {
      const value = encodeChange(
        { ...drawn, before: null, after: null, line: null, detectedAt: new Date(0), corrects: null },
        9,
        'padron_reducido',
      );
      expect(peekChange(value)).toEqual({ edition: drawn.edition, op: drawn.op, company: drawn.ruc.startsWith('20') });
    }),
  );
});

it('bytes that are no change are refused, never misread or read past their end', () => {
  for (const bytes of [
    '',
    '00',
    '0000000001',
    '000000000102',
    '0000000001020a0016',
    '0000000001ffffffffffffffffffff',
  ]) {
    expect(() => peekChange(Buffer.from(bytes, 'hex'))).toThrow('cannot be decoded');
  }
});
