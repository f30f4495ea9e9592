import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkDigit, checkRuc, isCompany, maskRuc } from '../../../schemas/ruc.ts';

describe('checkRuc', () => {
  // A known validator refused 20515397290, 20990000060 and 20990000001, whose remainder makes 10 or 11.
  it.each(['20990000019', '20990000027', '10990000013', '15990000015', '20515397290', '20990000060', '20990000001'])(
    'accepts %s',
    (ruc) => expect(checkRuc(ruc)).toEqual({ ok: true, ruc }),
  );

  it('says what is wrong, in the order length, characters, prefix, check digit', () => {
    expect(checkRuc('12345674')).toEqual({ ok: false, problem: 'length', length: 8 });
    expect(checkRuc('123')).toEqual({ ok: false, problem: 'length', length: 3 });
    expect(checkRuc('2099000001a')).toEqual({ ok: false, problem: 'characters' });
    expect(checkRuc('２0990000019'.slice(0, 11))).toEqual({ ok: false, problem: 'characters' });
    expect(checkRuc('00990000019')).toEqual({ ok: false, problem: 'prefix', prefix: '00' });
    expect(checkRuc('20990000010')).toEqual({ ok: false, problem: 'check_digit', expected: 9 });
  });

  it('finds every single wrong digit', () => {
    const companies = fc.integer({ min: 0, max: 99_999_999 }).map((n) => `20${String(n).padStart(8, '0')}`);
    fc.assert(
      fc.property(companies, fc.integer({ min: 2, max: 9 }), fc.integer({ min: 1, max: 9 }), (ten, at, by) => {
        const ruc = ten + checkDigit(ten);
        const wrong = ruc.slice(0, at) + ((Number(ruc[at]) + by) % 10) + ruc.slice(at + 1);
        const check = checkRuc(wrong);
        // 10 and 11 share digits with 0 and 1, so two pairs of the eleven remainders cannot be distinguished.
        const remainder = (text: string) =>
          [5, 4, 3, 2, 7, 6, 5, 4, 3, 2].reduce((sum, w, i) => sum + w * Number(text[i]), 0) % 11;
        expect(check.ok).toBe((11 - remainder(ten)) % 10 === (11 - remainder(wrong)) % 10);
      }),
    );
  });
});

describe('maskRuc', () => {
  it('hides the national id of natural persons and keeps companies readable', () => {
    expect(maskRuc('10990000013')).toBe('10*******13');
    expect(maskRuc('15990000015')).toBe('15*******15');
    expect(maskRuc('20990000019')).toBe('20990000019');
    expect(isCompany('20990000019')).toBe(true);
    expect(isCompany('17990000011')).toBe(false);
  });
});
