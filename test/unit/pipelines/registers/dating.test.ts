import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { dateOf } from '../../../../pipelines/registers/dating.ts';
import { registerModules } from '../../../../pipelines/registers/modules.ts';
import type { SiteAccess } from '../../../../pipelines/registers/site.ts';
import { makeEgressDispatcher } from '../../../../pipelines/runtime/egress/dispatcher.ts';
import { limaDay } from '../../../../schemas/lima-time.ts';
import type { RegisterName } from '../../../../schemas/registers.ts';
import { FaultyOfficialSite } from '../../../support/publication/official-site.ts';

const policy = { allowPrivateTargets: true, allowHttp: true };
const retentionPage = '<h1>Agentes de Retenci&oacute;n</h1><p>Actualizado al : 20/10/2026</p>';
const modified = (text: string) => new Date(text).toUTCString();
let site: FaultyOfficialSite;
let access: SiteAccess;

beforeEach(async () => {
  // A test that runs at midnight must not see two days.
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-27T15:00:00Z') });
  site = new FaultyOfficialSite();
  await site.start();
  const dispatcher = makeEgressDispatcher(policy, {
    connectTimeoutMs: 20_000,
    headersTimeoutMs: 20_000,
    bodyIdleTimeoutMs: 20_000,
    connectionsPerOrigin: 1,
    keepAliveMs: 1_000,
  });
  access = { dispatcher, policy, userAgent: 'padron-test' };
});
afterEach(async () => {
  await access.dispatcher.close();
  await site.close();
  vi.useRealTimers();
});

function dating(register: RegisterName, lastModified: string | null, text: string | null = null) {
  const source = { ...registerModules[register].source, pageUrl: `${site.origin}/pagina.html` };
  const textStart = text === null ? null : Buffer.from(text, 'latin1');
  const times = { lastModified, answeredAt: null, headPublishedAt: null };
  return dateOf(access, source, { ...times, textStart }, new AbortController().signal);
}

/** A day as the pages write it, so many days after today in Lima. */
function writtenDay(days: number): string {
  const [year, month, day] = limaDay(new Date(Date.now() + days * 86_400_000)).split('-');
  return `${day}/${month}/${year}`;
}

describe('a register dated by its page', () => {
  it('has the day of the page, and the time of the download where that says one', async () => {
    site.placePage('/pagina.html', retentionPage);
    const day = { fechaDato: '2026-10-20' };
    expect(await dating('agentes_retencion', null)).toEqual({ ...day, publishedAt: new Date('2026-10-20T05:00:00Z') });
    for (const time of ['2026-10-13T22:00:00Z', '2026-10-21T15:00:00Z']) {
      expect(await dating('agentes_retencion', modified(time))).toEqual({ ...day, publishedAt: new Date(time) });
    }
  });

  it('is undated by the page of the other list', async () => {
    site.placePage('/pagina.html', retentionPage);
    expect(await dating('buenos_contribuyentes', modified('2026-10-20T15:00:00Z'))).toEqual({
      undated: expect.stringContaining('agentes_retencion'),
    });
  });

  it('is undated without a date or a page, and is asked again when the site is away', async () => {
    site.placePage('/pagina.html', '<h1>Agentes de Retencion</h1> en mantenimiento');
    expect(await dating('agentes_retencion', null)).toEqual({ undated: expect.stringContaining('Actualizado al') });
    site.placePage('/pagina.html', '');
    site.intercept = (_request, response) => response.writeHead(404).end() !== null;
    expect(await dating('agentes_retencion', null)).toEqual({ undated: expect.stringContaining('404') });
    site.intercept = (_request, response) => response.writeHead(503).end() !== null;
    await expect(dating('agentes_retencion', null)).rejects.toMatchObject({ retryable: true });
  });
});

describe('a register dated by its download', () => {
  it('asks its page only where there is no Last-Modified', async () => {
    site.intercept = (_request, response) => response.writeHead(503).end() !== null;
    expect(await dating('padron_reducido', modified('2026-10-20T04:59:00Z'))).toMatchObject({
      fechaDato: '2026-10-19',
    });
    await expect(dating('padron_reducido', null)).rejects.toMatchObject({ retryable: true });
    site.intercept = null;
    site.placePage('/pagina.html', '<div class="titulo">21/10/2026</div>');
    expect(await dating('padron_reducido', null)).toMatchObject({ fechaDato: '2026-10-21' });
    site.placePage('/pagina.html', '<div class="titulo">21/10/2999</div>');
    expect(await dating('padron_reducido', null)).toEqual({ undated: expect.stringContaining('has not come') });
    site.placePage('/pagina.html', `<div class="titulo">${writtenDay(1)}</div>`);
    expect(await dating('padron_reducido', null)).toEqual({ undated: expect.stringContaining('has not come') });
    site.placePage('/pagina.html', `<div class="titulo">${writtenDay(0)}</div>`);
    expect(await dating('padron_reducido', null)).toMatchObject({ fechaDato: '2026-11-27' });
  });

  it('asks its page where Last-Modified is of a time that no register can have', async () => {
    site.placePage('/pagina.html', '<div class="titulo">21/10/2026</div>');
    const onPage = { fechaDato: '2026-10-21', publishedAt: new Date('2026-10-21T05:00:00Z') };
    for (const time of ['1970-01-01T00:00:00Z', '2000-01-01T05:00:00Z'])
      expect(await dating('padron_reducido', modified(time))).toEqual(onPage);
  });

  it('is never of a day after today', async () => {
    const ahead = await dating('padron_reducido', modified(new Date(Date.now() + 20 * 3_600_000).toISOString()));
    expect(ahead).toMatchObject({ fechaDato: '2026-11-27' });
    expect((ahead as { publishedAt: Date }).publishedAt.getTime()).toBeLessThanOrEqual(Date.now());
  });
});

describe('a register dated by its text', () => {
  const text = (day: string) => `FECHA_CORTE|RUC|NOMBRE\r\n${day}|20990000019|COMERCIAL PRUEBA UNO S.A.C.\r\n`;

  it('has the day that the text says, however fresh the file looks', async () => {
    expect(await dating('sancionados', modified('2026-10-20T15:00:00Z'), text('20180326'))).toEqual({
      fechaDato: '2018-03-26',
      publishedAt: new Date('2026-10-20T15:00:00Z'),
    });
    expect(await dating('sancionados', null, text('20260404'))).toEqual({
      fechaDato: '2026-04-04',
      publishedAt: new Date('2026-04-04T05:00:00Z'),
    });
  });

  it('is undated by a text that says none, or cannot be read', async () => {
    expect(await dating('sancionados', null, text('00000000'))).toEqual({ undated: expect.stringContaining('text') });
    expect(await dating('padron_mensual', null, null)).toEqual({ undated: expect.stringContaining('text') });
  });
});
