import { describe, expect, it } from 'vitest';
import { type PlacedHead, type PlacedPublication, placeOf } from '../../../../workflows/publication/order.ts';

const head: PlacedHead = {
  sha256: 'aa',
  publishedAt: new Date('2026-11-27T07:38:00Z'),
  detectedAt: new Date('2026-11-27T08:00:00Z'),
};

function publication(changes: Partial<PlacedPublication>): PlacedPublication {
  return {
    sha256: 'bb',
    publishedAt: new Date('2026-11-28T07:38:00Z'),
    detectedAt: new Date('2026-11-28T08:00:00Z'),
    approved: false,
    reverted: false,
    ...changes,
  };
}

describe('the place of a publication', () => {
  it('is next when it is newer, or of the same time, or the first', () => {
    expect(placeOf(publication({}), head)).toBe('next');
    expect(placeOf(publication({ publishedAt: head.publishedAt! }), head)).toBe('next');
    expect(placeOf(publication({}), { sha256: null, publishedAt: null, detectedAt: null })).toBe('next');
  });

  it("is repeated when it holds the head's bytes, whatever its date", () => {
    expect(placeOf(publication({ sha256: 'aa' }), head)).toBe('repeated');
    expect(placeOf(publication({ sha256: 'aa', publishedAt: new Date(0) }), head)).toBe('repeated');
  });

  it('is reverted when an operator has undone its bytes, also while the head still names them', () => {
    expect(placeOf(publication({ reverted: true }), head)).toBe('reverted');
    expect(placeOf(publication({ reverted: true, sha256: 'aa' }), head)).toBe('reverted');
    expect(placeOf(publication({ reverted: true, publishedAt: new Date(0) }), head)).toBe('reverted');
  });

  it('approved after that, it may become an edition again, in its order', () => {
    const approved = { reverted: true, approved: true };
    expect(placeOf(publication({ ...approved, sha256: 'aa' }), head)).toBe('next');
    expect(placeOf(publication({ ...approved, publishedAt: new Date(0) }), head)).toBe('superseded');
  });

  it('is superseded when a newer one passed while it waited', () => {
    const waited = { publishedAt: new Date('2026-11-26T07:38:00Z'), detectedAt: new Date('2026-11-26T08:00:00Z') };
    expect(placeOf(publication(waited), head)).toBe('superseded');
  });

  it('is stale when the site went back to an older file; approval does not let an older one replace a newer', () => {
    const older = { publishedAt: new Date('2026-11-26T07:38:00Z') };
    expect(placeOf(publication(older), head)).toBe('stale');
    expect(placeOf(publication({ ...older, approved: true }), head)).toBe('superseded');
  });
});
