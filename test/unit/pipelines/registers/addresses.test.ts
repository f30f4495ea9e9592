import { describe, expect, it } from 'vitest';
import { addressesOf } from '../../../../pipelines/registers/settings.ts';

describe('the addresses of a source', () => {
  it('are one where the address names no month', () => {
    expect(addressesOf('https://example.com/a.zip', new Date())).toEqual(['https://example.com/a.zip']);
  });

  it('are those of this month in Lima and of three before it, newest first, over the turn of the year', () => {
    const beforeMidnight = new Date('2027-02-01T04:59:59Z');
    const months = (now: Date) =>
      addressesOf('https://example.com/P_{AAAAMM}.zip', now).map((url) => url.slice(22, 28));
    expect(months(beforeMidnight)).toEqual(['202701', '202612', '202611', '202610']);
    expect(months(new Date('2027-02-01T05:00:00Z'))).toEqual(['202702', '202701', '202612', '202611']);
    expect(months(new Date('2026-03-31T12:00:00Z'))[1]).toBe('202602');
  });
});
