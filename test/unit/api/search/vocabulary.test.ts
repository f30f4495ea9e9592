import { describe, expect, test } from 'vitest';
import { termsOf } from '../../../../api/search/terms.ts';
import { Vocabulary } from '../../../../api/search/vocabulary.ts';

/** @param names how many names begin with each word */
function vocabularyOf(words: readonly string[], names: Record<string, number> = {}): Vocabulary {
  const vocabulary = new Vocabulary();
  for (const word of [...words].sort()) vocabulary.add(word, names[word] ?? 0);
  return vocabulary;
}
const near = (words: readonly string[], typed: string) => vocabularyOf(words).nearWords(termsOf(typed)!);

describe('ends of a word', () => {
  test('are all words that begin so, the shortest first, itself among them; a word that comes twice once', () => {
    const vocabulary = vocabularyOf(['KOLPA', 'KOLPAS', 'KOLPA', 'KOLA', 'KOLPANOR', 'ZKOL', 'KO', '3KOL']);
    expect(vocabulary.completions('KOL')).toEqual({ words: ['KOLA', 'KOLPA', 'KOLPAS', 'KOLPANOR'], more: false });
    expect(vocabulary.completions('KOLPAS')).toEqual({ words: ['KOLPAS'], more: false });
    expect(vocabulary.completions('KX')).toEqual({ words: [], more: false });
    expect(vocabulary.completions('3')).toEqual({ words: ['3KOL'], more: false });
  });

  test('are 600 at most, and `more` is set when there are more', () => {
    const words = Array.from({ length: 601 }, (_, index) => `KO${'L'.repeat(index)}`);
    expect(vocabularyOf(words.slice(0, 600)).completions('K')).toEqual({ words: words.slice(0, 600), more: false });
    expect(vocabularyOf(words).completions('K')).toEqual({ words: words.slice(0, 600), more: true });
  });
});

describe('words that names begin with', () => {
  const words = ['KOLPA', 'KOLPAS', 'KOLA', 'PERU', 'ZKOL'];
  const names = { KOLPA: 3, KOLPAS: 2, ZKOL: 9 };
  const beginnings = (typed: string) => vocabularyOf(words, names).beginnings(termsOf(typed)!);

  test('are all ends of a lone word with which a name begins, and how many names do', () => {
    expect(beginnings('kol')).toEqual({ words: ['KOLPA', 'KOLPAS'], names: 5, more: false });
    expect(beginnings('peru')).toEqual({ words: [], names: 0, more: false });
  });

  test('are the first of several words as it stands', () => {
    expect(beginnings('kolpa per')).toEqual({ words: ['KOLPA'], names: 3, more: false });
    expect(beginnings('kol per')).toEqual({ words: [], names: 0, more: false });
    expect(beginnings('peru kolpa')).toEqual({ words: [], names: 0, more: false });
  });

  test('are 600 at most, and `more` is set when there are more or the words are not known', () => {
    const many = Array.from({ length: 601 }, (_, index) => `KO${'L'.repeat(index)}`);
    const once = Object.fromEntries(many.map((word) => [word, 1]));
    expect(vocabularyOf(many, once).beginnings(termsOf('ko')!)).toMatchObject({ names: 600, more: true });
    expect(vocabularyOf(many.slice(1), once).beginnings(termsOf('ko')!)).toMatchObject({ names: 600, more: false });
    expect(vocabularyOf([]).beginnings(termsOf('kolpa')!)).toEqual({ words: [], names: 0, more: true });
    expect(vocabularyOf([]).completions('KOLPA')).toEqual({ words: [], more: true });
  });
});

describe('words near one that was typed', () => {
  test('one edit from four letters on, two from eight; with the first letter right; itself is not near', () => {
    const words = ['KOLPA', 'KOPLA', 'KOLPAS', 'KOLAPS', 'KOL', 'KOLA', 'GOLPA', 'DISTRIBUIDORA', 'DISTRIBUCION'];
    expect(near(words, 'kolpa')).toEqual([
      { term: 0, word: 'KOLA', edits: 1 },
      { term: 0, word: 'KOLPAS', edits: 1 },
      { term: 0, word: 'KOPLA', edits: 1 },
    ]);
    expect(near(words, 'kop')).toEqual([]);
    expect(near(words, 'distribuidra kolp')).toEqual([
      { term: 0, word: 'DISTRIBUIDORA', edits: 1 },
      { term: 1, word: 'KOL', edits: 1 },
      { term: 1, word: 'KOLA', edits: 1 },
      { term: 1, word: 'KOLPA', edits: 1 },
    ]);
    expect(near(words, 'distribuidro')).toEqual([{ term: 0, word: 'DISTRIBUIDORA', edits: 2 }]);
  });

  test('a number is never another number', () => {
    expect(near(['20055', '20056', 'GRUPO3A', 'GRUPO3B'], '20055')).toEqual([]);
    expect(near(['GRUPO3A', 'GRUPO3B'], 'GRUPO3A')).toEqual([]);
  });

  test('are 40 of each at most, the fewest edits first', () => {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    const twice = letters.map((letter) => `DISTRIBUI${letter}${letter}`);
    const once = letters.map((letter) => `DISTRIBUID${letter}`);
    const found = near([...twice, ...once], 'DISTRIBUIDX');
    // All of these are one edit away: another last letter, or two X.
    expect(found.map(({ edits }) => edits)).toEqual([...Array(26).fill(1), ...Array(14).fill(2)]);
  });
});

test('what is known: words, what they stand for, beginnings of the last and of legal forms', () => {
  const known = (typed: string) => vocabularyOf(['KOLPA', 'DISTRIBUIDORA', 'LIMA']).known(termsOf(typed)!);
  expect(known('kolpa lim')).toEqual([true, true]);
  expect(known('kolp lima')).toEqual([false, true]);
  expect(known('dist kolpa')).toEqual([true, true]);
  expect(known('kolpa s')).toEqual([true, true]);
  expect(known('kolpa x')).toEqual([true, false]);
  expect(known('limas')).toEqual([false]);
  // A store that lost its words must not turn every search into an empty page.
  expect(vocabularyOf([]).known(termsOf('kolpa lima')!)).toEqual([true, true]);
});
