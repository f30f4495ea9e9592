import { describe, expect, it } from 'vitest';
import { listPage } from '../../../../deploy/local/demo/register/lists.ts';
import { pageDate } from '../../../../pipelines/registers/taxpayer-list.ts';

const now = new Date('2026-11-27T15:00:00Z');
const agents = (html: string) => pageDate(html, 'agentes_retencion', now);

describe('the date of a list', () => {
  it('is the day of "Actualizado al" on its own page, which begins at midnight in Lima', () => {
    const html =
      '<html><td class="x">Padr&oacute;n de Agentes de Retenci&oacute;n<br><b>Actualizado&nbsp;al : </b>26/11/2026</td></html>';
    const expected = { publishedAt: new Date('2026-11-26T05:00:00Z'), fechaDato: '2026-11-26' };
    expect(agents(html)).toEqual(expected);
    expect(agents('<p>ACTUALIZADO  AL: 26/11/2026</p>')).toEqual(expected);
    const demo = listPage('buenos_contribuyentes', 'BueCont_TXT.zip', new Date('2026-11-26T12:00:00Z'));
    for (const encoded of [demo, Buffer.from(demo, 'utf8').toString('latin1')]) {
      expect(pageDate(encoded, 'buenos_contribuyentes', now)).toEqual(expected);
    }
  });

  it('is not taken from the page of the other list', () => {
    const page = listPage('buenos_contribuyentes', 'BueCont_TXT.zip', now);
    expect(agents(page)).toBe('the page is that of buenos_contribuyentes, not of agentes_retencion');
    expect(pageDate(listPage('agentes_retencion', 'AgenRet_TXT.zip', now), 'buenos_contribuyentes', now)).toBe(
      'the page is that of agentes_retencion, not of buenos_contribuyentes',
    );
    const both = `${page}<a href="../AgentRet/AgenRet0.html">Agentes de Retención</a>`;
    expect(pageDate(both, 'buenos_contribuyentes', now)).toMatchObject({ fechaDato: '2026-11-27' });
  });

  it('may be today in Lima, and no later day', () => {
    expect(agents('Actualizado al : 27/11/2026')).toMatchObject({ fechaDato: '2026-11-27' });
    expect(agents('Actualizado al : 28/11/2026')).toBe('the page says 2026-11-28, which has not come yet');
    const evening = new Date('2026-11-28T03:00:00Z');
    expect(pageDate('Actualizado al : 28/11/2026', 'agentes_retencion', evening)).toMatch(/not come yet/);
  });

  it('is reported missing in words', () => {
    expect(agents('<h1>Servicio no disponible</h1>')).toBe('the page does not say "Actualizado al" with a date');
    expect(agents('Actualizado al : 31/02/2026')).toBe('the page says 31/02/2026, which is no day');
  });
});
