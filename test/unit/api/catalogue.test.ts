import { expect, test } from 'vitest';
import { newestChange, type ServedRegister } from '../../../api/catalogue.ts';

const changed = (day: string | null) =>
  ({ modifiedAt: day === null ? null : new Date(`2026-11-${day}T09:00:00Z`) }) as ServedRegister;

test('an answer from several registers is as new as the newest, and of no known time while one is being written', () => {
  expect(newestChange([changed('20'), changed('26'), changed('25')])).toEqual(new Date('2026-11-26T09:00:00Z'));
  expect(newestChange([changed('20')])).toEqual(new Date('2026-11-20T09:00:00Z'));
  for (const order of [
    [changed(null), changed('26')],
    [changed('26'), changed(null), changed('20')],
  ])
    expect(newestChange(order)).toBeNull();
});
