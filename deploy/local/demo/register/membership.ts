import { isCompany } from '../../../../schemas/ruc.ts';
import { hash, isDeleted, maxDays, type Population, rucOfIndex, taxpayerOn } from './population.ts';

/**
 * Who stands on a list, by day. The taxpayers that may stand on it form one row, and the list is a window over it that moves
 * a little each day: some leave at its front, some enter at its end. They all stay in the daily register.
 */
export interface Membership {
  population: Population;
  /** On day 1. */
  count: number;
  /** Index of the population from which its taxpayers are taken. */
  from: number;
  /** Per day after the first. */
  entering: number;
  leaving: number;
  /** One natural person in so many is taken beside all companies; null: companies alone. */
  onePersonIn: number | null;
}

export interface Member {
  index: number;
  ruc: string;
  name: string;
  /** The day on which it entered; 1 for those that were there from the start. */
  since: number;
}

export function membersOn(membership: Membership, day: number): Member[] {
  const { population, count, entering, leaving } = membership;
  const first = (day - 1) * leaving;
  const end = count + (day - 1) * entering;
  return candidates(membership, end)
    .slice(first)
    .map((index, place) => {
      const { ruc, cells } = taxpayerOn(population, index, 1);
      const since = Math.max(1, Math.floor((first + place - count) / Math.max(1, entering)) + 2);
      return { index, ruc, name: cells[0]!, since };
    });
}

/** RUCs that `day` adds to the list and takes from it. */
export function membershipChanges(membership: Membership, day: number): { entered: Member[]; left: Member[] } {
  const [before, after] = [membersOn(membership, day - 1), membersOn(membership, day)];
  const [known, kept] = [new Set(before.map(({ ruc }) => ruc)), new Set(after.map(({ ruc }) => ruc))];
  return {
    entered: after.filter(({ ruc }) => !known.has(ruc)),
    left: before.filter(({ ruc }) => !kept.has(ruc)),
  };
}

function candidates({ population, from, onePersonIn }: Membership, wanted: number): number[] {
  const found: number[] = [];
  for (let step = 0; step < population.rows && found.length < wanted; step += 1) {
    const index = (from + step) % population.rows;
    const isPerson = !isCompany(rucOfIndex(population, index));
    if (isPerson && (onePersonIn === null || hash(index, population.seed) % onePersonIn !== 0)) continue;
    if (!isDeleted(population, index, maxDays)) found.push(index);
  }
  if (found.length < wanted) throw new RangeError(`a list of ${wanted} does not fit in ${population.rows} taxpayers`);
  return found;
}
