export interface PlacedPublication {
  sha256: string;
  publishedAt: Date;
  detectedAt: Date;
  approved: boolean;
  /** Whether an operator has undone the edition that was made from these bytes. */
  reverted: boolean;
}

export interface PlacedHead {
  sha256: string | null;
  publishedAt: Date | null;
  /** When the changes of the head's edition were detected. Null: there is no edition yet. */
  detectedAt: Date | null;
}

/**
 * The place of a publication relative to its register's head:
 * - `next`: it may become the next edition. Its time may equal the head's time.
 * - `reverted`: the site still offers a publication that an operator has undone, so an operator decides. This is
 *   checked before `repeated`, because the head still names the undone publication. Once approved, it is compared like
 *   any other.
 * - `repeated`: it has the same bytes as the head, so only the register's date moves.
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
