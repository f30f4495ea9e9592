import { hash } from 'node:crypto';
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

/** The key of a cursor. It holds the question's fingerprint, since a place in one order is none in another. */
export function writePosition({ edition, given, after }: Position, question: string): string {
  const { place, standing, mismatch, length, ruc } = after;
  return [edition, given, place, standing, mismatch, length, ruc, question].join('.');
}

/** null: of another question. */
export function readPosition(key: string, question: string): Position | null {
  const parts = key.split('.');
  if (parts[7] !== question) return null;
  const [edition, given, place, standing, mismatch, length] = parts.map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (place > lastPlace) return null;
  return { edition, given, after: { place, standing, mismatch, length, ruc: parts[6]! } };
}

/** What two pages must have in common to be of one list. */
export function questionOf({ q, estado, condicion, ubigeo }: SearchQuery): string {
  return hash('sha256', JSON.stringify([q, estado, condicion, ubigeo]), 'hex').slice(0, 16);
}
