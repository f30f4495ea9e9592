/** Where a publication stands beside its register's head. Pure. */
export interface PlacedPublication {
  sha256: string;
  publishedAt: Date;
  detectedAt: Date;
  approved: boolean;
  /** These bytes were an edition that an operator has undone. */
  reverted: boolean;
}

export interface PlacedHead {
  sha256: string | null;
  publishedAt: Date | null;
  /** When the head's edition was made; null when there is none. */
  detectedAt: Date | null;
}

/**
 * - `next`: it may become the next edition. Equal times are allowed.
 * - `reverted`: the site still offers what an operator has undone: for a person to look at. It comes before `repeated`, since
 *   the head goes on naming the undone publication. Approved, it is compared with today's state like any other.
 * - `repeated`: the head's own bytes again; only the date moves.
 * - `superseded`: a newer one became the head while it waited (or an operator approved it after that).
 * - `stale`: the site went back to an older file after the head was made: for a person to look at.
 */
export type Place = 'next' | 'reverted' | 'repeated' | 'superseded' | 'stale';

export function placeOf(publication: PlacedPublication, head: PlacedHead): Place {
  if (publication.reverted && !publication.approved) return 'reverted';
  if (head.sha256 === publication.sha256 && !publication.reverted) return 'repeated';
  if (head.publishedAt === null || publication.publishedAt >= head.publishedAt) return 'next';
  const waited = head.detectedAt !== null && publication.detectedAt < head.detectedAt;
  return waited || publication.approved ? 'superseded' : 'stale';
}
