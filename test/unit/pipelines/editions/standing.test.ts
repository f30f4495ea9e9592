import { describe, expect, it } from 'vitest';
import type { Habit } from '../../../../pipelines/editions/habit.ts';
import type { PublishedVersion, PublishingHistory } from '../../../../pipelines/editions/published.ts';
import {
  heldSinceOf,
  incidentsOf,
  type StandingFacts,
  standingLimits,
  standingOf,
} from '../../../../pipelines/editions/standing.ts';

const lima = (text: string) => new Date(`2026-11-${text}:00-05:00`);
const expected = { at: lima('29T02:40'), overdueAt: lima('29T04:15') };
const limits = { maxProbeAgeHours: 24, maxPublicationAgeHours: 36 };

const facts: StandingFacts = {
  publishedAt: lima('28T02:40'),
  newestAt: lima('28T02:40'),
  probedAt: lima('29T05:00'),
  openSince: null,
  heldSince: null,
  pausedAt: null,
};
const standing = (changes: Partial<StandingFacts>, now: string, due: typeof expected | null = expected) =>
  standingOf({ ...facts, ...changes }, due, limits, lima(now));

describe('a register', () => {
  it('is up to date until its next publication is overdue', () => {
    expect(standing({}, '29T04:15').name).toBe('al_dia');
    expect(standing({}, '29T05:00')).toEqual({ name: 'autoridad', since: expected.at });
  });

  it('waits for the authority only if its site was asked after the expected time', () => {
    const probedAt = lima('29T02:39');
    expect(standing({ probedAt }, '29T05:00').name).toBe('al_dia');
    expect(standing({ probedAt }, '29T06:15').name).toBe('al_dia');
    // We should have asked by now, so the delay is ours.
    expect(standingLimits.maxUnwatchedMinutes).toBe(120);
    expect(standing({ probedAt }, '29T06:16')).toEqual({ name: 'nosotros', since: expected.overdueAt });
  });

  it('is our delay when its site has not answered for a day, or never', () => {
    expect(standing({ probedAt: lima('28T04:00') }, '29T04:01').name).toBe('nosotros');
    expect(standing({ probedAt: null }, '29T04:00')).toEqual({ name: 'nosotros', since: null });
  });

  it('is our delay when work takes over an hour', () => {
    const openSince = lima('29T02:45');
    expect(standingLimits.maxOwnDelayMinutes).toBe(60);
    expect(standing({ openSince }, '29T03:45').name).toBe('al_dia');
    expect(standing({ openSince }, '29T03:46')).toEqual({ name: 'nosotros', since: openSince });
  });

  it('is held, before anything else, while an operator must decide or has paused it', () => {
    const heldSince = lima('29T02:50');
    const openSince = lima('29T02:45');
    expect(standing({ heldSince, openSince }, '29T09:00')).toEqual({ name: 'retenida', since: heldSince });
    expect(standing({ pausedAt: lima('20T09:00') }, '29T09:00').name).toBe('retenida');
  });

  it('has no data before its first edition, and the delay is ours when that takes too long', () => {
    expect(standing({ publishedAt: null }, '29T09:00', null).name).toBe('sin_datos');
    expect(standing({ publishedAt: null, openSince: lima('29T02:45') }, '29T09:00', null).name).toBe('nosotros');
  });

  it('without a habit waits for the authority by the limit of hours, if it has one', () => {
    expect(standing({}, '29T14:40', null).name).toBe('al_dia');
    expect(standing({ probedAt: lima('29T14:40') }, '29T14:41', null).name).toBe('autoridad');
    // What is not served yet was published all the same.
    const newestAt = lima('29T02:40');
    expect(standing({ newestAt, probedAt: lima('29T14:40') }, '29T14:41', null).name).toBe('al_dia');
    expect(standingOf(facts, null, { maxProbeAgeHours: 24 }, lima('30T04:00')).name).toBe('al_dia');
  });
});

const version: PublishedVersion = {
  register: 'padron_reducido',
  state: 'publicada',
  sha256: 'ab'.repeat(32),
  fechaDato: '2026-11-28',
  publishedAt: lima('28T02:40'),
  detectedAt: lima('28T03:00'),
  stateAt: lima('28T03:10'),
  isDecided: false,
  edition: 7,
  changes: 120,
  rows: 1_000,
  isFull: false,
  servedAt: lima('28T03:12'),
};

it('only a publication in quarantine that is newer than the served one holds a register', () => {
  const held = (publishedAt: Date | null) =>
    heldSinceOf([{ ...version, state: 'en_cuarentena', publishedAt }], lima('28T02:40'));
  expect(held(lima('27T02:40'))).toBeNull();
  expect(held(lima('29T02:40'))).toEqual(version.stateAt);
  expect(heldSinceOf([{ ...version, state: 'rechazada', publishedAt: lima('29T02:40') }], lima('28T02:40'))).toEqual(
    version.stateAt,
  );
  // A publication without a date may be newer.
  expect(held(null)).toEqual(version.stateAt);
});

describe('incidents', () => {
  const habit: Habit = {
    rhythm: 'daily',
    minutes: { usual: 160, earliest: 158, latest: 165 },
    gapDays: { usual: 1, longest: 2 },
    weekdays: [0, 1, 2, 3, 4, 5, 6],
    dayOfMonth: 15,
  };
  const incidents = (history: Partial<PublishingHistory>, known: Habit | null = null, pausedAt: Date | null = null) =>
    incidentsOf(
      { versions: [], corrections: [], verifications: [], ...history },
      { habit: known, pausedAt, now: lima('29T09:00') },
    ).map(({ kind, from, to }) => [kind, from, to]);

  it('are none when editions are served in time', () => {
    expect(incidents({ versions: [version] }, habit)).toEqual([]);
  });

  it('has an edition that was served over an hour after its publication was seen, unless it wrote every row', () => {
    const late = { ...version, servedAt: lima('28T04:01') };
    expect(incidents({ versions: [late] })).toEqual([['nosotros', late.detectedAt, late.servedAt]]);
    expect(incidents({ versions: [{ ...late, isFull: true }] })).toEqual([]);
  });

  it('has work that stands still, but not during a pause and not what became superfluous', () => {
    const open = { ...version, state: 'comparada' as const, edition: null, servedAt: null };
    expect(incidents({ versions: [open] })).toEqual([['nosotros', open.detectedAt, null]]);
    expect(incidents({ versions: [open] }, null, lima('28T02:00'))).toEqual([['retenida', lima('28T02:00'), null]]);
    expect(incidents({ versions: [{ ...open, state: 'repetida' }] })).toEqual([]);
  });

  it('has what was held, until an operator decided', () => {
    const decided = { ...version, isDecided: true, servedAt: lima('28T15:00') };
    expect(incidents({ versions: [decided] })).toEqual([['retenida', version.detectedAt, decided.servedAt]]);
    const rejected = { ...decided, state: 'rechazada' as const, edition: null, servedAt: null };
    expect(incidents({ versions: [rejected] })).toEqual([['retenida', version.detectedAt, version.stateAt]]);
    expect(incidents({ versions: [{ ...rejected, isDecided: false, state: 'en_cuarentena' }] })).toEqual([
      ['retenida', version.stateAt, null],
    ]);
  });

  it('has the days on which a daily register came later than usual', () => {
    const next = (publishedAt: Date) => ({ ...version, edition: 8, publishedAt });
    expect(incidents({ versions: [version, next(lima('29T04:15'))] }, habit)).toEqual([]);
    expect(incidents({ versions: [version, next(lima('29T04:16'))] }, habit)).toEqual([
      ['autoridad', lima('29T02:40'), lima('29T04:16')],
    ]);
  });

  it('has one for checks with differences until the next one without', () => {
    const check = (day: string, equal: boolean) => ({
      register: 'padron_reducido' as const,
      edition: 7,
      checkedAt: lima(`${day}T13:00`),
      equal,
      differences: equal ? 0 : 3,
    });
    const checks = [check('20', true), check('21', false), check('22', false), check('23', true), check('24', false)];
    expect(incidents({ verifications: checks })).toEqual([
      ['verificacion', lima('24T13:00'), null],
      ['verificacion', lima('21T13:00'), lima('23T13:00')],
    ]);
  });

  it('has corrections', () => {
    const [detectedAt, servedAt] = [lima('28T10:00'), lima('28T10:02')];
    const corrections = [{ register: 'padron_reducido' as const, number: 8, corrects: 7, detectedAt, servedAt }];
    expect(incidents({ corrections })).toEqual([['correccion', detectedAt, servedAt]]);
  });
});
