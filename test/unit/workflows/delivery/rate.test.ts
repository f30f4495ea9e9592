import fc from 'fast-check';
import { expect, it } from 'vitest';
import { allowance, type RateState, spend, waitMs } from '../../../../workflows/delivery/messages.ts';

it('in no stretch of time more requests may be sent than the rate and a tenth of a second allow', () => {
  const perSecond = fc.integer({ min: 1, max: 200 });
  const steps = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(perSecond, steps, (rate, pauses) => {
      let state: RateState = { emptyAtMs: 0 };
      let now = 1_000_000;
      const began = now;
      let sent = 0;
      for (const pause of pauses) {
        now += pause;
        const free = allowance(state, now, rate);
        state = spend(state, now, rate, free);
        sent += free;
        expect(sent).toBeLessThanOrEqual(((now - began) / 1_000) * rate + Math.max(1, rate / 10) + 1e-6);
      }
    }),
  );
});

it('the wait for one more request is right, so nobody waits for ever', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 0, max: 5_000 }), (rate, ahead) => {
      const state = { emptyAtMs: 1_000_000 + ahead };
      const wait = waitMs(state, 1_000_000, rate);
      expect(allowance(state, 1_000_000 + wait, rate)).toBeGreaterThanOrEqual(1);
      if (wait > 1) expect(allowance(state, 1_000_000 + wait - 2, rate)).toBe(0);
    }),
  );
});

it('the rate is reached over time', () => {
  let state: RateState = { emptyAtMs: 0 };
  let sent = 0;
  for (let now = 0; now < 10_000; now += 5) {
    const free = allowance(state, now, 200);
    state = spend(state, now, 200, free);
    sent += free;
  }
  expect(sent).toBeGreaterThanOrEqual(2_000);
  expect(sent).toBeLessThanOrEqual(2_020);
});

it('a clock that was set back, or another worker’s, delays no request by more than one spacing', () => {
  for (const perSecond of [1, 20, 200]) {
    const ahead = spend(
      { emptyAtMs: 0 },
      1_000_000_000,
      perSecond,
      allowance({ emptyAtMs: 0 }, 1_000_000_000, perSecond),
    );
    const setBack = 1_000_000_000 - 3_600_000;
    expect(waitMs(ahead, setBack, perSecond)).toBe(0);
    expect(allowance(ahead, setBack, perSecond)).toBeGreaterThanOrEqual(1);
    // From here on the bucket is filled by this clock.
    const onward = spend(ahead, setBack, perSecond, allowance(ahead, setBack, perSecond));
    expect(onward.emptyAtMs - setBack).toBeLessThanOrEqual(1_000);
    expect(allowance(onward, setBack, perSecond)).toBe(0);
  }
});
