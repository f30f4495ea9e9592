import { describe, expect, it } from 'vitest';
import { type DatedHead, lateness, latenessByRegister } from '../../../../pipelines/editions/freshness.ts';
import type { RegisterName } from '../../../../schemas/registers.ts';

/** 07:40 UTC is 02:40 in Lima. */
const head: DatedHead = {
  fecha_dato: '2026-11-27',
  published_at: new Date('2026-11-27T07:40:00Z'),
  probed_at: new Date('2026-11-27T08:00:00Z'),
  open_since: null,
};

function late(register: RegisterName, now: string, changes: Partial<DatedHead> = {}): string[] {
  return lateness({ ...head, ...changes }, latenessByRegister[register], new Date(now));
}

describe('the daily register', () => {
  const asked = { probed_at: new Date('2026-11-28T19:00:00Z') };

  it('is late 36 hours after its newest publication, whatever day it is', () => {
    expect(late('padron_reducido', '2026-11-28T19:40:00Z', asked)).toEqual([]);
    expect(late('padron_reducido', '2026-11-28T20:40:00Z', asked)).toEqual([
      'its newest publication came out 37 h ago (at most 36)',
    ]);
  });

  // One day was skipped, and two days answered 404.
  it('is late while days are missing, and no longer once a later day has been published', () => {
    expect(
      late('padron_reducido', '2026-11-30T14:00:00Z', { probed_at: new Date('2026-11-30T13:30:00Z') }),
    ).toHaveLength(1);
    const caughtUp = { published_at: new Date('2026-11-30T07:40:00Z'), probed_at: new Date('2026-11-30T14:30:00Z') };
    expect(late('padron_reducido', '2026-11-30T15:00:00Z', caughtUp)).toEqual([]);
  });

  // The file's address has moved: the edition stays, and the reason is reported.
  it('is late when its site has not answered for a day', () => {
    expect(late('padron_reducido', '2026-11-28T09:00:00Z')).toEqual([
      'its official site last answered 25 h ago (at most 24)',
    ]);
  });

  it('is late while unfinished work does not advance', () => {
    const openSince = new Date('2026-11-27T08:10:00Z');
    expect(late('padron_reducido', '2026-11-27T14:10:00Z', { open_since: openSince })).toEqual([]);
    expect(late('padron_reducido', '2026-11-27T15:10:00Z', { open_since: openSince })).toEqual([
      'what is on its way began 7 h ago (at most 6)',
    ]);
  });

  it('is late before its first edition', () => {
    const nothing = { fecha_dato: null, published_at: null, probed_at: null, open_since: null };
    expect(late('padron_reducido', '2026-11-28T09:00:00Z', nothing)).toEqual([
      'it has no edition yet',
      'its official site has never answered',
    ]);
  });
});

describe('the monthly register', () => {
  const october = { fecha_dato: '2026-10-01', published_at: new Date('2026-11-10T15:00:00Z') };

  it('is late 45 days after the end of its month, counted in Lima', () => {
    const probedAt = new Date('2026-12-15T12:00:00Z');
    expect(late('padron_mensual', '2026-12-15T23:00:00Z', { ...october, probed_at: probedAt })).toEqual([]);
    // It is still the 15th in Lima.
    expect(late('padron_mensual', '2026-12-16T04:00:00Z', { ...october, probed_at: probedAt })).toEqual([]);
    expect(late('padron_mensual', '2026-12-16T06:00:00Z', { ...october, probed_at: probedAt })).toEqual([
      'the month of its data ended 46 days ago (at most 45)',
    ]);
  });

  it('knows the ends of short months', () => {
    const february = { fecha_dato: '2027-02-01', probed_at: new Date('2027-04-14T12:00:00Z') };
    expect(late('padron_mensual', '2027-04-14T14:00:00Z', february)).toEqual([]);
    expect(late('padron_mensual', '2027-04-15T11:00:00Z', february)).toHaveLength(1);
  });
});

// The newest date in the data counts, not the file's modification time.
describe('a list', () => {
  it('is late by the age of its data, and when its site does not answer', () => {
    const probedAt = new Date('2027-01-11T12:00:00Z');
    const fresh = { fecha_dato: '2026-11-27', published_at: new Date('2027-01-10T12:00:00Z'), probed_at: probedAt };
    expect(late('sancionados', '2027-01-11T13:00:00Z', fresh)).toEqual([]);
    expect(late('sancionados', '2027-01-12T11:00:00Z', fresh)).toEqual(['its data are of 46 days ago (at most 45)']);
    expect(late('agentes_retencion', '2026-11-28T12:00:00Z')).toHaveLength(1);
  });
});
