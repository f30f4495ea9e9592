import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Health } from '../../../../pipelines/webhooks/results.ts';
import { defaultHealthRule, isSlow, judge, type Outcome } from '../../../../workflows/delivery/health.ts';

const healthy: Health = { failuresInARow: 0, firstFailureAt: null, timeoutsInARow: 0 };
const start = Date.UTC(2026, 10, 27);
const hourMs = 3_600_000;
const failed = (hours: number, status: number | null = 500): Outcome => ({
  success: false,
  timedOut: false,
  status,
  at: new Date(start + hours * hourMs),
});
const timedOut = (hours: number): Outcome => ({ ...failed(hours, null), timedOut: true });
const succeeded = (hours: number): Outcome => ({ ...failed(hours, 204), success: true });
const run = (outcomes: readonly Outcome[], health = healthy) => judge(health, outcomes, defaultHealthRule);

describe('an endpoint is paused', () => {
  it('by 20 failures in a row of which the first is 24 h old, not by one of the two alone', () => {
    const within = Array.from({ length: 100 }, (_, index) => failed(index / 10));
    expect(run(within).pause).toBeNull();
    const slow = Array.from({ length: 19 }, (_, index) => failed(index * 2));
    expect(run(slow).pause).toBeNull();
    expect(run([...slow, failed(36)]).pause).toBe('fallos');
    const exact = [...Array.from({ length: 19 }, () => failed(0)), failed(24)];
    expect(run(exact).pause).toBe('fallos');
  });

  it('by a 410 at once, even if a success follows in the same round', () => {
    expect(run([failed(0, 410)]).pause).toBe('respuesta_410');
    expect(run([failed(0, 410), succeeded(0)]).pause).toBe('respuesta_410');
  });

  it('not after a success: 99 failures, a quiet day and one more failure pause; a success in between resets them', () => {
    const many = run(Array.from({ length: 99 }, () => failed(0)));
    expect(many.pause).toBeNull();
    expect(run([failed(25)], many.health).pause).toBe('fallos');
    expect(run([succeeded(1), failed(25)], many.health)).toEqual({
      health: { failuresInARow: 1, firstFailureAt: new Date(start + 25 * hourMs), timeoutsInARow: 0 },
      pause: null,
      warning: null,
    });
  });
});

describe('its owner is warned', () => {
  const ten = Array.from({ length: 10 }, (_, index) => failed(index));
  it('half way and at nine tenths of both conditions, not of one alone', () => {
    expect(run(ten).warning).toBeNull();
    expect(run([...ten, failed(11.9)]).warning).toBeNull();
    expect(run([...ten, failed(12)]).warning).toBe(50);
    expect(run([failed(0), failed(23)]).warning).toBeNull();
    const eighteen = Array.from({ length: 17 }, () => failed(0));
    expect(run([...eighteen, failed(21.5)]).warning).toBe(50);
    expect(run([...eighteen, failed(21.6)]).warning).toBe(90);
  });

  it('not together with the pause, and not after a success', () => {
    const twenty = Array.from({ length: 20 }, () => failed(0));
    expect(run([...twenty, failed(24)])).toMatchObject({ pause: 'fallos', warning: null });
    expect(run([...ten, failed(12), succeeded(13)])).toMatchObject({ pause: null, warning: null });
  });
});

describe('it is slow', () => {
  const slow = (outcomes: readonly Outcome[]) => isSlow(run(outcomes).health.timeoutsInARow, defaultHealthRule);
  it('after three attempts in a row without an answer in time', () => {
    expect(slow([timedOut(0), timedOut(0)])).toBe(false);
    expect(slow([timedOut(0), timedOut(0), timedOut(0)])).toBe(true);
  });

  it('until any answer comes, even one that is a failure', () => {
    const three = [timedOut(0), timedOut(0), timedOut(0)];
    expect(slow([...three, succeeded(1)])).toBe(false);
    expect(slow([...three, failed(1)])).toBe(false);
    expect(slow([...three, failed(1), timedOut(2)])).toBe(false);
  });
});

it('outcomes added one by one or together give the same health', () => {
  const outcome = fc.record({ success: fc.boolean(), hours: fc.integer({ min: 0, max: 48 }) });
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 60 }), (drawn) => {
      const outcomes = drawn.map(({ success, hours }) => (success ? succeeded(hours) : failed(hours)));
      const together = run(outcomes).health;
      const oneByOne = outcomes.reduce((health, each) => run([each], health).health, healthy);
      expect(oneByOne).toEqual(together);
    }),
  );
});
