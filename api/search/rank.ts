import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { type Match, matches, type SearchQuery } from '../../schemas/http/search.ts';

/**
 * A hit's position in the order of hits, which is the same in every process. Hits are ordered by `place`, then by
 * `standing` (active and habido, active, other). Then come `mismatch` (how far the legal form, the Ñ and the spelling
 * differ from the query), `length` of the name (shorter first) and `ruc`.
 */
export interface Rank {
  /**
   * How well the name matches, as an answer's `coincidencia` shows it. 0 to 3 are exacta, exacta_sin_forma, prefijo and
   * palabras. 4 to 7 are all shown as aproximada: one edit, two edits, more edits, and one term left out.
   */
  place: number;
  standing: number;
  mismatch: number;
  length: number;
  ruc: string;
}

export const prefixPlace = 2;
export const wordsPlace = 3;
export const firstApproximatePlace = 4;
export const lastEditsPlace = 6;
export const fewerWordsPlace = 7;

const places = [100, 90, 70, 50, 40, 30, 20, 10] as const;
const perStanding = 3;

/** Whether the name, with or without its legal form, is the same as the query. */
export function isExact({ rank }: { rank: Rank }): boolean {
  return rank.place < prefixPlace;
}

/** Returns a negative number when `one` comes before `other`. */
export function compareRanks(one: Rank, other: Rank): number {
  return (
    one.place - other.place ||
    one.standing - other.standing ||
    one.mismatch - other.mismatch ||
    one.length - other.length ||
    Number(one.ruc) - Number(other.ruc)
  );
}

export function matchOf({ place }: Rank): Match {
  return matches[Math.min(place, firstApproximatePlace)]!;
}

/** Returns a score from 0 to 100. A hit never has a higher score than the hits before it. */
export function scoreOf({ place, standing, mismatch }: Rank): number {
  return places[place]! - standing * perStanding - Math.min(mismatch, perStanding);
}

/** Where the next page continues. */
export interface Position {
  edition: number;
  /** Hits returned so far. */
  given: number;
  after: Rank;
}

/** Writes positions as cursor keys, and reads them. Only a process that knows the secret can write a valid key. */
export interface Positions {
  /** @param question the text from `questionOf` */
  write(position: Position, question: string): string;
  /** Returns null when the key belongs to another question or was not written by us. */
  read(key: string, question: string): Position | null;
}

/**
 * Makes the writer and reader of position keys. A key ends with a seal (HMAC) over its numbers and its question. So a
 * caller cannot use a key with another question, where its numbers mean nothing. Nor can he change `given` to get more
 * hits than the limit.
 * @param secret the same in every process, because any process may get the request for the next page
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

/** The parts of a query that all pages of one list have in common. */
export function questionOf({ q, estado, condicion, ubigeo }: SearchQuery): string {
  return JSON.stringify([q, estado, condicion, ubigeo]);
}
