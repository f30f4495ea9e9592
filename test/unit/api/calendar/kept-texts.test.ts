import { expect, it } from 'vitest';
import { makeKeptTexts } from '../../../../api/calendar/store.ts';

it('a text is written once per name and moment, and anew for a new version or date', () => {
  const kept = makeKeptTexts();
  const written: string[] = [];
  const ask = (moment: string, name: string) =>
    kept(moment, name, () => {
      written.push(`${moment} ${name}`);
      return `${moment} ${name}`;
    });
  for (const moment of ['v1-2026-11-27', 'v1-2026-11-28', 'v2-2026-11-28', 'v1-2026-11-27']) {
    for (const name of ['0', '1', '0']) expect(ask(moment, name)).toBe(`${moment} ${name}`);
  }
  expect(written).toHaveLength(8);
});
