import { describe, expect, it } from 'vitest';
import { placeOf } from '../../../../workflows/publication/judge.ts';

const head = {
  publication_sha256: 'aa',
  published_at: new Date('2026-11-27T07:38:00Z'),
  detected_at: new Date('2026-11-27T08:00:00Z'),
};
const noHead = { publication_sha256: null, published_at: null, detected_at: null };

/** The place of a publication that is a day newer than the head, with these changes. */
function place(changes: Partial<Parameters<typeof placeOf>[0]>, { reverted = false, to = head as Head } = {}) {
  const publication = {
    id: 7,
    sha256: 'bb',
    published_at: new Date('2026-11-28T07:38:00Z'),
    detected_at: new Date('2026-11-28T08:00:00Z'),
    decided_by: null,
    state: 'descargada' as const,
  };
  return placeOf({ ...publication, ...changes }, to, reverted);
}

const reverted = { reverted: true };
const approved = { decided_by: 'Ana Ruiz' };
type Head = Parameters<typeof placeOf>[1];

describe('the place of a publication', () => {
  it('is next when it is newer, or of the same time, or the first', () => {
    expect(place({})).toBe('next');
    expect(place({ published_at: head.published_at })).toBe('next');
    expect(place({}, { to: noHead })).toBe('next');
  });

  it("is repeated when it holds the head's bytes, whatever its date", () => {
    expect(place({ sha256: 'aa' })).toBe('repeated');
    expect(place({ sha256: 'aa', published_at: new Date(0) })).toBe('repeated');
  });

  it('is reverted when an operator has undone its bytes, also while the head still names them', () => {
    expect(place({}, reverted)).toBe('reverted');
    expect(place({ sha256: 'aa' }, reverted)).toBe('reverted');
    expect(place({ published_at: new Date(0) }, reverted)).toBe('reverted');
  });

  it('approved after that, it may become an edition again, in its order', () => {
    expect(place({ ...approved, sha256: 'aa' }, reverted)).toBe('next');
    expect(place({ ...approved, published_at: new Date(0) }, reverted)).toBe('superseded');
  });

  it('is superseded when a newer one passed while it waited', () => {
    const waited = { published_at: new Date('2026-11-26T07:38:00Z'), detected_at: new Date('2026-11-26T08:00:00Z') };
    expect(place(waited)).toBe('superseded');
  });

  it('is stale when the site went back to an older file; approval does not let an older one replace a newer', () => {
    const older = { published_at: new Date('2026-11-26T07:38:00Z') };
    expect(place(older)).toBe('stale');
    expect(place({ ...older, ...approved })).toBe('superseded');
  });
});
