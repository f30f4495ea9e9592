import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { type Match, matches, type SearchQuery } from '../../schemas/http/search.ts';

/**
 * Where a hit stands: by tier, then standing (active and habido, active, other), then how true it is to what was typed,
 * then the shorter name, then the RUC, so that the order is total and the same in every process.
 */
export interface Rank {
  /** 0 to 3: exacta, exacta_sin_forma, prefijo, palabras; 4 and above: aproximada, one more for each further edit. */
  place: number;
  standing: number;
  mismatch: number;
  length: number;
  ruc: string;
}

const prefixPlace = 2;
export const wordsPlace = 3;
export const firstApproximatePlace = 4;
export const lastPlace = 6;

const places = [100, 90, 70, 50, 30, 20, 10] as const;
const perStanding = 3;

/** The name, with its legal form or without, is what was typed. */
export function isExact({ rank }: { rank: Rank }): boolean {
  return rank.place < prefixPlace;
}

/** Below 0: the first one comes before the other. */
export function compareRanks(one: Rank, other: Rank): number {
  if (one.place !== other.place) return one.place - other.place;
  if (one.standing !== other.standing) return one.standing - other.standing;
  if (one.mismatch !== other.mismatch) return one.mismatch - other.mismatch;
  if (one.length !== other.length) return one.length - other.length;
  return Number(one.ruc) - Number(other.ruc);
}

export function matchOf({ place }: Rank): Match {
  return matches[Math.min(place, firstApproximatePlace)]!;
}

/** 0 to 100; follows the order of ranks and never rises in it. */
export function scoreOf({ place, standing, mismatch }: Rank): number {
  return places[place]! - standing * perStanding - mismatch;
}

/** From where the next page goes on. */
export interface Position {
  edition: number;
  /** Hits given so far. */
  given: number;
  after: Rank;
}

/** Positions as the keys of cursors, which only a process that knows the secret can write. */
export interface Positions {
  /** @param question see `questionOf` */
  write(position: Position, question: string): string;
  /** null: of another question, or none of ours. */
  read(key: string, question: string): Position | null;
}

/**
 * A key ends in a seal of itself and its question: a place in one order is none in another, and `given`, which ends a list
 * after its last hit, is not the caller's to write.
 * @param secret the same in every process, since any of them may be asked for the next page
 */
export function makePositions(secret: string): Positions {
  const sealKey = hkdfSync('sha256', secret, '', 'search cursors', 32);
  const sealOf = (numbers: string, question: string) =>
    createHmac('sha256', Buffer.from(sealKey)).update(`${numbers}\n${question}`).digest('hex').slice(0, 32);
  return {
    write({ edition, given, after: { place, standing, mismatch, length, ruc } }, question) {
      const numbers = [edition, given, place, standing, mismatch, length, ruc].join('.');
      return `${numbers}.${sealOf(numbers, question)}`;
    },
    read(key, question) {
      const end = key.lastIndexOf('.');
      const numbers = key.slice(0, end);
      const [given, expected] = [key.slice(end + 1), sealOf(numbers, question)].map((seal) => Buffer.from(seal));
      if (given!.length !== expected!.length || !timingSafeEqual(given!, expected!)) return null;
      return positionOf(numbers);
    },
  };
}

function positionOf(numbers: string): Position {
  const parts = numbers.split('.');
  type Numbers = [number, number, number, number, number, number];
  const [edition, given, place, standing, mismatch, length] = parts.map(Number) as Numbers;
  return { edition, given, after: { place, standing, mismatch, length, ruc: parts[6]! } };
}

/** What two pages must have in common to be of one list. */
export function questionOf({ q, estado, condicion, ubigeo }: SearchQuery): string {
  return JSON.stringify([q, estado, condicion, ubigeo]);
}
