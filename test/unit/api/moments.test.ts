import { expect, test } from 'vitest';
import { dayOf, instantAfter, instantFrom } from '../../../api/input.ts';

// A day means the whole day in Lima, and a time its whole second, or its millisecond where it names one.
test.each([
  ['2026-11-27', '2026-11-27T05:00:00.000Z', '2026-11-28T05:00:00.000Z', '2026-11-27'],
  ['2026-12-31', '2026-12-31T05:00:00.000Z', '2027-01-01T05:00:00.000Z', '2026-12-31'],
  ['2026-11-27T04:59:59.999Z', '2026-11-27T04:59:59.999Z', '2026-11-27T05:00:00.000Z', '2026-11-26'],
  ['2026-11-27T00:00:00-05:00', '2026-11-27T05:00:00.000Z', '2026-11-27T05:00:01.000Z', '2026-11-27'],
  ['9999-12-31', '9999-12-31T05:00:00.000Z', '+010000-01-01T05:00:00.000Z', '9999-12-31'],
])('%s', (moment, from, after, day) => {
  expect([instantFrom(moment).toISOString(), instantAfter(moment).toISOString(), dayOf(moment)]).toEqual([
    from,
    after,
    day,
  ]);
});
