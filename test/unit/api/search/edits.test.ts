import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editsBetween } from '../../../../api/search/vocabulary.ts';

/** The definition of the distance, without a limit or a shortcut. */
function defined(one: string, other: string): number {
  if (one === '' || other === '') return Math.max(one.length, other.length);
  const cost = one.at(-1) === other.at(-1) ? 0 : 1;
  const shorter = (text: string, by = 1) => text.slice(0, text.length - by);
  const edits = [
    defined(shorter(one), other) + 1,
    defined(one, shorter(other)) + 1,
    defined(shorter(one), shorter(other)) + cost,
  ];
  const isSwapped = one.length > 1 && other.length > 1 && one.at(-1) === other.at(-2) && one.at(-2) === other.at(-1);
  if (isSwapped) edits.push(defined(shorter(one, 2), shorter(other, 2)) + 1);
  return Math.min(...edits);
}

describe('edits between two words', () => {
  test.each([
    ['KOLPA', 'KOLPA', 0],
    ['KOLPA', 'KOLPAS', 1],
    ['DISTRIBUIDRA', 'DISTRIBUIDORA', 1],
    ['KOPLA', 'KOLPA', 1],
    ['KOPLAS', 'KOLPA', 2],
    ['CA', 'ABC', 3],
    ['KOLPA', 'MADERERA', 3],
  ])('%s and %s: %i', (one, other, edits) => {
    expect(editsBetween(one, other, 2)).toBe(edits);
    expect(editsBetween(other, one, 2)).toBe(edits);
  });

  test('follow the definition, up to the allowed number', () => {
    const word = fc.string({ unit: fc.constantFrom('A', 'B', 'C'), maxLength: 6 });
    fc.assert(
      fc.property(word, word, fc.constantFrom(1, 2), (one, other, most) => {
        expect(editsBetween(one, other, most)).toBe(Math.min(defined(one, other), most + 1));
      }),
    );
  });
});
