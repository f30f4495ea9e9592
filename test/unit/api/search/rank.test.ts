import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { makePositions, type Rank, scoreOf } from '../../../../api/search/rank.ts';
import { editsAllowed, termsOf } from '../../../../api/search/terms.ts';
import { storedCondiciones, storedEstados } from '../../../../schemas/display-texts.ts';

const rank: fc.Arbitrary<Rank> = fc.record({
  place: fc.integer({ min: 0, max: 7 }),
  standing: fc.integer({ min: 0, max: 2 }),
  mismatch: fc.integer({ min: 0, max: 4 }),
  length: fc.integer({ min: 1, max: 100 }),
  ruc: fc.constantFrom('20990000019', '20990000027'),
});

test('a score never rises from one hit to the next, and stays within 0 and 100', () => {
  const keyOf = ({ place, standing, mismatch }: Rank) => place * 100 + standing * 10 + mismatch;
  fc.assert(
    fc.property(rank, rank, (one, other) => {
      const [first, second] = keyOf(one) <= keyOf(other) ? [one, other] : [other, one];
      expect(scoreOf(first)).toBeGreaterThanOrEqual(scoreOf(second));
      expect(scoreOf(second)).toBeGreaterThanOrEqual(0);
      expect(scoreOf(first)).toBeLessThanOrEqual(100);
    }),
  );
});

describe('a position', () => {
  const secret = 'a secret of at least 32 characters';
  const position = (given: number) => ({ edition: 7, given, after: { ...worst, ruc: '20990000019' } });
  const worst = { place: 6, standing: 2, mismatch: 3, length: 100 };

  test('comes back from its cursor in every process, and only to its own question', () => {
    fc.assert(
      fc.property(
        rank,
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: 1, max: 999 }),
        (after, edition, given) => {
          const key = makePositions(secret).write({ edition, given, after }, 'one');
          expect(makePositions(secret).read(key, 'one')).toEqual({ edition, given, after });
          expect(makePositions(secret).read(key, 'other')).toBeNull();
        },
      ),
    );
  });

  test('cannot be forged: a key that was changed, has another secret, or comes from an earlier release is refused', () => {
    const { read, write } = makePositions(secret);
    const key = write(position(980), 'one');
    for (let at = 0; at < key.length; at += 1)
      expect(
        read(`${key.slice(0, at)}${key[at] === '1' ? '2' : '1'}${key.slice(at + 1)}`, 'one'),
        String(at),
      ).toBeNull();
    expect(read(makePositions(`${secret}.`).write(position(20), 'one'), 'one')).toBeNull();
    expect(read('7.20.6.2.3.100.20990000019.0123456789abcdef', 'one')).toBeNull();
    expect(read('', 'one')).toBeNull();
  });
});

describe('terms', () => {
  test('are the folded words, the last of which may go on', () => {
    expect(termsOf(' Inv. de ñandú y ñandú KOLPA SAC ')).toEqual({
      base: 'INV DE NANDU NANDU KOLPA',
      form: 'SAC',
      enie: ['ÑANDU', 'ÑANDU'],
      letters: ['INVNANDUNANDUKOLPA', 'INVERSIONESNANDUNANDUKOLPA', 'INVERSIONNANDUNANDUKOLPA'],
      typed: ['INV', 'DE', 'NANDU', 'KOLPA'],
      whole: [
        { word: 'INV', same: ['INV', 'INVERSIONES', 'INVERSION'], parts: [] },
        { word: 'NANDU', same: ['NANDU'], parts: [] },
      ],
      last: { word: 'KOLPA', same: ['KOLPA'], parts: [] },
      ends: [{ before: [], begin: 'KOLPA' }],
    });
    expect(termsOf('¿?')).toBeNull();
  });

  test('are demanded together or apart where people write them both ways, also unfinished', () => {
    expect(termsOf("d'puya")).toMatchObject({
      last: { same: ['DPUYA'], parts: ['D', 'PUYA'] },
      ends: [
        { before: [], begin: 'DPUYA' },
        { before: ['D'], begin: 'PUYA' },
      ],
    });
    expect(termsOf('grupo g d c')).toMatchObject({
      whole: [{ word: 'GRUPO' }],
      last: { same: ['GDC'], parts: ['G', 'D', 'C'] },
      ends: [
        { before: ['G', 'D'], begin: 'C' },
        { before: [], begin: 'GDC' },
      ],
    });
  });

  test('do not have connectors, except the last word', () => {
    expect(termsOf('la casa de los')!.whole.map(({ word }) => word)).toEqual(['CASA']);
    expect(termsOf('la casa de los')!.last.word).toBe('LOS');
  });

  test('edits by length, none in numbers', () => {
    expect(['SOL', 'SOLE', 'SOLEDAD', 'SOLEDADE', 'SOLEDAD2'].map(editsAllowed)).toEqual([0, 1, 1, 2, 0]);
  });
});

test('filters name the texts that the register holds', () => {
  expect(storedEstados('suspensión temporal')).toEqual(['SUSPENSION TEMPORAL', 'SUSPENSIÓN TEMPORAL']);
  expect(storedEstados('BAJA MULT.INSCR. Y OTROS')).toEqual(['BAJA MULT.INSCR. Y OTROS', 'BAJA MULT.INSCR. Y O']);
  expect(storedCondiciones('NO HALLADO')).toEqual(['NO HALLADO']);
  expect(storedCondiciones('NO HALLADO DESTINATARIO DE OTRO')).toEqual(['NO HALLADO DESTINATARIO DE OTRO']);
});
