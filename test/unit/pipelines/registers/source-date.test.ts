import { describe, expect, it } from 'vitest';
import { dateFromLastModified } from '../../../../pipelines/registers/module.ts';
import { dateFromLandingPage } from '../../../../pipelines/registers/padron-reducido.ts';
import { limaDay } from '../../../../schemas/lima-time.ts';

const now = new Date('2026-11-28T12:00:00Z');
const dateOf = (lastModified: string | null, others: { answeredAt?: string | null; headPublishedAt?: Date } = {}) =>
  dateFromLastModified({ lastModified, answeredAt: null, headPublishedAt: null, ...others }, now);

describe('the date of a publication', () => {
  it('is the day of Last-Modified in Lima, not in UTC', () => {
    expect(dateOf('Sat, 28 Nov 2026 07:38:12 GMT')).toEqual({
      publishedAt: new Date('2026-11-28T07:38:12Z'),
      fechaDato: '2026-11-28',
    });
    // 04:59 UTC is still the evening before in Lima; 05:00 is midnight there.
    expect(dateOf('Sat, 28 Nov 2026 04:59:59 GMT')?.fechaDato).toBe('2026-11-27');
    expect(dateOf('Sat, 28 Nov 2026 05:00:00 GMT')?.fechaDato).toBe('2026-11-28');
  });

  it.each([
    null,
    '',
    'yesterday',
    '2026-11-28T07:38:12Z',
    'Sat, 99 Nov 2026 07:38:12 GMT',
    'Thu, 01 Jan 1970 00:00:00 GMT',
    'Tue, 01 Jan 1980 00:00:00 GMT',
  ])('is unknown for %j', (text) => {
    expect(dateOf(text)).toBeNull();
  });

  it.each([
    ['Sun, 29 Nov 2026 08:00:00 GMT', null, now],
    ['Mon, 28 Nov 2033 12:00:00 GMT', null, now],
    ['Sun, 29 Nov 2026 08:00:00 GMT', 'Sat, 28 Nov 2026 11:00:00 GMT', new Date('2026-11-28T11:00:00Z')],
    ['Sat, 28 Nov 2026 11:30:00 GMT', 'Sat, 28 Nov 2026 11:00:00 GMT', new Date('2026-11-28T11:00:00Z')],
    ['Sun, 29 Nov 2026 08:00:00 GMT', 'Sun, 29 Nov 2026 09:00:00 GMT', now],
    // An impossible Date says nothing.
    ['Sun, 29 Nov 2026 08:00:00 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT', now],
    ['Sun, 29 Nov 2026 08:00:00 GMT', 'now', now],
  ])('%s in an answer of %s is cut to the earlier of this and now', (lastModified, answeredAt, publishedAt) => {
    expect(dateOf(lastModified, { answeredAt })).toEqual({ publishedAt, fechaDato: '2026-11-28' });
  });

  it('is unknown when it is more than a year before the newest edition', () => {
    const headPublishedAt = new Date('2026-11-27T07:38:00Z');
    expect(dateOf('Wed, 26 Nov 2025 07:38:00 GMT', { headPublishedAt })).not.toBeNull();
    expect(dateOf('Mon, 24 Nov 2025 07:38:00 GMT', { headPublishedAt })).toBeNull();
    expect(dateOf('Mon, 24 Nov 2025 07:38:00 GMT')?.fechaDato).toBe('2025-11-24');
  });

  it('is that of the landing page when the download had none', () => {
    const page = `<html><p>01/01/2020</p><div class="col titulo">Padr&oacute;n reducido<br><b>Actualizado al 27/11/2026</b></div>`;
    expect(dateFromLandingPage(page)).toEqual({
      publishedAt: new Date('2026-11-27T05:00:00Z'),
      fechaDato: '2026-11-27',
    });
  });

  it.each([
    '<div class="titulo">sin fecha</div>',
    '<div class="titulo">31/02/2026</div>',
    '<div class="subtitulos">27/11/2026</div>',
    '<p>27/11/2026</p>',
    '',
  ])('is unknown for the page %j', (page) => {
    expect(dateFromLandingPage(page)).toBeNull();
  });

  it('follows Lima through the night', () => {
    expect(limaDay(new Date('2026-01-01T04:59:59.999Z'))).toBe('2025-12-31');
    expect(limaDay(new Date('2026-01-01T05:00:00Z'))).toBe('2026-01-01');
  });
});
