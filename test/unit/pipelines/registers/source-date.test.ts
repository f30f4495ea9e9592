import { describe, expect, it } from 'vitest';
import { dateFromLastModified } from '../../../../pipelines/registers/module.ts';
import { dateFromLandingPage } from '../../../../pipelines/registers/padron-reducido.ts';
import { limaDay } from '../../../../schemas/lima-time.ts';

const now = new Date('2026-11-28T12:00:00Z');

describe('the date of a publication', () => {
  it('is the day of Last-Modified in Lima, not in UTC', () => {
    expect(dateFromLastModified('Sat, 28 Nov 2026 07:38:12 GMT', now)).toEqual({
      publishedAt: new Date('2026-11-28T07:38:12Z'),
      fechaDato: '2026-11-28',
    });
    // 04:59 UTC is still the evening before in Lima; 05:00 is midnight there.
    expect(dateFromLastModified('Sat, 28 Nov 2026 04:59:59 GMT', now)?.fechaDato).toBe('2026-11-27');
    expect(dateFromLastModified('Sat, 28 Nov 2026 05:00:00 GMT', now)?.fechaDato).toBe('2026-11-28');
  });

  it.each([
    null,
    '',
    'yesterday',
    '2026-11-28T07:38:12Z',
    'Sat, 99 Nov 2026 07:38:12 GMT',
    'Tue, 01 Dec 2026 07:38:12 GMT',
  ])('is unknown for %j', (text) => {
    expect(dateFromLastModified(text, now)).toBeNull();
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
