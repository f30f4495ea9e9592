import { Finder, type Match, type Names, type Take } from './finder.ts';
import type { NameIndex, Words } from './name-index.ts';
import type { Candidate, Candidates, Question, Tier } from './question.ts';
import { compareRanks, fewerWordsPlace, firstApproximatePlace, prefixPlace, type Rank, wordsPlace } from './rank.ts';

/** The tier `any` returns so many names. If there are more, the tiers `name` and `words` find the best ones. */
const maxNamesOfAnyTier = 100;
/** If this many names have all terms but a certain one, the tier `fewer` does not show them: they are too many. */
const maxNamesWithFewerWords = 1_000;

/** @param names the indexes to search; no name that is up to date is in two of them */
export function findCandidates(names: readonly Names[], question: Question, vocabulary: Words): Candidates {
  const { tier, limit, after } = question;
  const finders = names.map((each) => ({ index: each.index, finder: new Finder(each, question, vocabulary) }));
  if (tier === 'any') {
    const found = finders.flatMap(({ index, finder }) => firstOf(index, maxNamesOfAnyTier, (take) => finder.any(take)));
    const first = found.sort(inTableOrder).slice(0, maxNamesOfAnyTier);
    return { candidates: first.sort(byRank), isWhole: found.length < maxNamesOfAnyTier };
  }
  const found: Candidate[] = [];
  if (tier === 'fewer') {
    for (const dropped of question.dropped) {
      const group = finders.flatMap(({ index, finder }) =>
        firstOf(index, maxNamesWithFewerWords, (take) => finder.without(dropped, fewerWordsPlace, take)),
      );
      if (group.length < maxNamesWithFewerWords) found.push(...group);
    }
  } else {
    for (const { index, finder } of finders) {
      for (const { best, find } of searches(tier, finder)) found.push(...bestOf(index, question, best, find));
    }
  }
  const rest = found.filter(({ rank }) => after === null || compareRanks(rank, after) > 0);
  return { candidates: rest.sort(byRank).slice(0, limit), isWhole: rest.length < limit };
}

type Find = (take: Take) => void;

/** `best` is the lowest place that `find` gives. */
function searches(tier: Exclude<Tier, 'any' | 'fewer'>, finder: Finder): { best: number; find: Find }[] {
  const same = { best: 0, find: (take: Take) => finder.same(take) };
  switch (tier) {
    case 'same':
      return [same];
    case 'name':
      return [
        { best: 0, find: (take) => finder.sameByWords(take) },
        { best: prefixPlace, find: (take) => finder.goingOn(take) },
      ];
    case 'words':
      return [{ best: wordsPlace, find: (take) => finder.words(take) }];
    case 'near':
      return [{ best: firstApproximatePlace, find: (take) => finder.near(take) }];
  }
}

/** Returns the first names in the index's order, at most `most`. */
function firstOf(index: NameIndex, most: number, find: Find): Candidate[] {
  const found: Candidate[] = [];
  find((doc, match) => found.push(candidateOf(index, doc, match)) < most);
  return found;
}

/**
 * Returns the names that rank best, at least `limit` if there are so many. Among names of one place, standing and
 * mismatch, the index's order is that of ranks. So the first ones of each such group suffice, and the search ends when
 * the best group that the rest of the names can be in is full.
 */
function bestOf(index: NameIndex, { after, limit }: Question, best: number, find: Find): Candidate[] {
  const groups = new Map<number, Candidate[]>();
  find((doc, match) => {
    const { place, mismatch } = match;
    const key = place * 100 + index.standing[doc]! * 10 + mismatch;
    const group = groups.get(key) ?? [];
    if (group.length >= limit) return true;
    if (after !== null && !isAfter(index, doc, match, after)) return true;
    group.push(candidateOf(index, doc, match));
    groups.set(key, group);
    return group.length < limit || place !== best || mismatch !== 0;
  });
  return [...groups.values()].flat();
}

/** The order of `compareRanks`, for very many names: no objects are made. */
function isAfter(index: NameIndex, doc: number, { place, mismatch }: Match, after: Rank): boolean {
  const order =
    place - after.place ||
    index.standing[doc]! - after.standing ||
    mismatch - after.mismatch ||
    index.length[doc]! - after.length ||
    index.ruc(doc) - Number(after.ruc);
  return order > 0;
}

function candidateOf(index: NameIndex, doc: number, { place, mismatch }: Match): Candidate {
  const ruc = String(index.ruc(doc));
  const rank = { place, standing: index.standing[doc]!, mismatch, length: index.length[doc]!, ruc };
  return { name: index.name(doc), form: index.forms.list[index.form[doc]!]!, ruc, rank };
}

function byRank(one: Candidate, other: Candidate): number {
  return compareRanks(one.rank, other.rank);
}

function inTableOrder({ rank: one }: Candidate, { rank: other }: Candidate): number {
  return compareRanks({ ...one, place: 0, mismatch: 0 }, { ...other, place: 0, mismatch: 0 });
}
