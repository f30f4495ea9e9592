import { describe, expect, it } from 'vitest';
import { type DatedHead, lateness, latenessByRegister } from '../../../../pipelines/editions/freshness.ts';
import type { RegisterName } from '../../../../schemas/registers.ts';

/** 07:40 UTC is 02:40 in Lima. */
const head: DatedHead = {
  fechaDato: '2026-11-27',
  publishedAt: new Date('2026-11-27T07:40:00Z'),
  probedAt: new Date('2026-11-27T08:00:00Z'),
  openSince: null,
};

function late(register: RegisterName, now: string, changes: Partial<DatedHead> = {}): string[] {
  return lateness({ ...head, ...changes }, latenessByRegister[register], new Date(now));
}

describe('the daily register', () => {
  const asked = { probedAt: new Date('2026-11-28T19:00:00Z') };

  it('is late 36 hours after its newest publication, whatever day it is', () => {
    expect(late('padron_reducido', '2026-11-28T19:40:00Z', asked)).toEqual([]);
    expect(late('padron_reducido', '2026-11-28T20:40:00Z', asked)).toEqual([
      'its newest publication came out 37 h ago (at most 36)',
    ]);
  });

  // A day that was skipped, and two that answered 404.
  it('is late while days are missing, and no longer once a later one has come', () => {
    expect(
      late('padron_reducido', '2026-11-30T14:00:00Z', { probedAt: new Date('2026-11-30T13:30:00Z') }),
    ).toHaveLength(1);
    const caughtUp = { publishedAt: new Date('2026-11-30T07:40:00Z'), probedAt: new Date('2026-11-30T14:30:00Z') };
    expect(late('padron_reducido', '2026-11-30T15:00:00Z', caughtUp)).toEqual([]);
  });

  // The address has moved; the edition stays, and it is said.
  it('is late when its site has not answered for a day', () => {
    expect(late('padron_reducido', '2026-11-28T09:00:00Z')).toEqual([
      'its official site last answered 25 h ago (at most 24)',
    ]);
  });

  it('is late while what came stands still on its way', () => {
    const openSince = new Date('2026-11-27T08:10:00Z');
    expect(late('padron_reducido', '2026-11-27T14:10:00Z', { openSince })).toEqual([]);
    expect(late('padron_reducido', '2026-11-27T15:10:00Z', { openSince })).toEqual([
      'what is on its way began 7 h ago (at most 6)',
    ]);
  });

  it('is late before it has anything at all', () => {
    const nothing = { fechaDato: null, publishedAt: null, probedAt: null, openSince: null };
    expect(late('padron_reducido', '2026-11-28T09:00:00Z', nothing)).toEqual([
      'it has no edition yet',
      'its official site has never answered',
    ]);
  });
});

describe('the monthly register', () => {
  const october = { fechaDato: '2026-10-01', publishedAt: new Date('2026-11-10T15:00:00Z') };

  it('is late 45 days after the end of its month, counted in Lima', () => {
    const probedAt = new Date('2026-12-15T12:00:00Z');
    expect(late('padron_mensual', '2026-12-15T23:00:00Z', { ...october, probedAt })).toEqual([]);
    // Still the 15th in Lima.
    expect(late('padron_mensual', '2026-12-16T04:00:00Z', { ...october, probedAt })).toEqual([]);
    expect(late('padron_mensual', '2026-12-16T06:00:00Z', { ...october, probedAt })).toEqual([
      'the month of its data ended 46 days ago (at most 45)',
    ]);
  });

  it('knows the ends of short months', () => {
    const february = { fechaDato: '2027-02-01', probedAt: new Date('2027-04-14T12:00:00Z') };
    expect(late('padron_mensual', '2027-04-14T14:00:00Z', february)).toEqual([]);
    expect(late('padron_mensual', '2027-04-15T11:00:00Z', february)).toHaveLength(1);
  });
});

// What counts is the newest date in the data, not when somebody touched a file.
describe('a list', () => {
  it('is late by the age of its data, and when its site does not answer', () => {
    const probedAt = new Date('2027-01-11T12:00:00Z');
    const fresh = { fechaDato: '2026-11-27', publishedAt: new Date('2027-01-10T12:00:00Z'), probedAt };
    expect(late('sancionados', '2027-01-11T13:00:00Z', fresh)).toEqual([]);
    expect(late('sancionados', '2027-01-12T11:00:00Z', fresh)).toEqual(['its data are of 46 days ago (at most 45)']);
    expect(late('agentes_retencion', '2026-11-28T12:00:00Z')).toHaveLength(1);
  });
});
