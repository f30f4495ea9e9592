export interface PlacedPublication {
  sha256: string;
  publishedAt: Date;
  detectedAt: Date;
  approved: boolean;
  /** An operator has undone the edition of these bytes. */
  reverted: boolean;
}

export interface PlacedHead {
  sha256: string | null;
  publishedAt: Date | null;
  /** When the head's edition was detected; null without an edition. */
  detectedAt: Date | null;
}

/**
 * The place of a publication relative to its register's head:
 * - `next`: it may become the next edition; equal times are allowed.
 * - `reverted`: the site still offers what an operator has undone, so an operator decides. This is checked before
 *   `repeated`, because the head still names the undone publication. Once approved, it is compared like any other.
 * - `repeated`: the head's bytes again; only the register's date moves.
 * - `superseded`: a newer publication became the head while this one waited, or before an operator approved it.
 * - `stale`: the site went back to an older file after the head was made, so an operator decides.
 */
export type Place = 'next' | 'reverted' | 'repeated' | 'superseded' | 'stale';

export function placeOf(publication: PlacedPublication, head: PlacedHead): Place {
  if (publication.reverted && !publication.approved) return 'reverted';
  if (head.sha256 === publication.sha256 && !publication.reverted) return 'repeated';
  if (head.publishedAt === null || publication.publishedAt >= head.publishedAt) return 'next';
  const waited = head.detectedAt !== null && publication.detectedAt < head.detectedAt;
  return waited || publication.approved ? 'superseded' : 'stale';
}
