import ICAL from 'ical.js';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { type FreshDatabase, migratedDatabase } from '../support/engines/isolation.ts';
import { expectGoodLooks, useBrowser } from '../support/pages/browser.ts';
import { type Site, startSite } from '../support/pages/site.ts';
import { fillStatusScene, sceneNow } from '../support/pages/status-scene.ts';

// How fresh the registers are, for anybody: with every standing, with nothing loaded, and while the database is away.

const browser = useBrowser();
let database: FreshDatabase;
let pool: Pool;
let site: Site;
/** The service's clock. */
let now = sceneNow;
beforeAll(async () => {
  database = await migratedDatabase(inject('endpoints'));
  pool = makePool(database.DATABASE_URL, 'test', 4);
  await fillStatusScene(pool);
  site = await startSite({ pool, now: () => now });
});
afterAll(async () => {
  await site?.stop();
  await pool?.end();
  await database?.drop();
});

test('every standing is shown in words, and leads to the register with its charts and their table', async (context) => {
  const page = await browser.open(context);
  await page.goto(site.url);
  await page.click('nav >> text=Estado');
  expect(await page.textContent('.intro')).toBe('1 de 4 registros cargados al día. Un atraso es nuestro.');
  const standingOf = (register: string) => page.textContent(`tr:has(a[href="/estado/${register}"]) .standing`);
  expect(await standingOf('padron_reducido')).toContain('Al día');
  expect(await standingOf('agentes_retencion')).toContain('Retenida por control de calidad');
  expect(await standingOf('buenos_contribuyentes')).toContain('La autoridad aún no publica');
  expect(await standingOf('sancionados')).toContain('Nos atrasamos');
  expect(await standingOf('padron_mensual')).toContain('Sin datos todavía');
  expect(await page.textContent('tr:has(a[href="/estado/padron_reducido"])')).toContain('18,341,022');
  await expectGoodLooks(page, 'estado');
  const feed = await page.getAttribute('link[rel=alternate][type="application/atom+xml"]', 'href');
  expect(await (await fetch(new URL(feed ?? '', site.url))).text()).toContain(
    '<title>Padrón: estado de los datos</title>',
  );

  await page.click('a[href="/estado/padron_reducido"]');
  expect(await page.textContent('.facts')).toContain('todas las filas son iguales a las del archivo');
  expect(await page.textContent('.facts')).toContain('mañana hacia las');
  expect(await page.locator('svg[role=img]').count()).toBe(2);
  // 90 days without the two that were skipped.
  expect(await page.locator('figure:first-of-type rect').count()).toBe(88);
  await expectGoodLooks(page, 'estado-registro');
  await page.click('summary');
  expect(await page.locator('details tbody tr').count()).toBe(88);
  await expectGoodLooks(page, 'estado-registro-tabla');
  expect(await page.textContent('main')).toContain('Nos atrasamos en servir una publicación');
  expect(await page.textContent('main')).toContain('La autoridad publicó más tarde que de costumbre');
});

test.for(['agentes_retencion', 'buenos_contribuyentes', 'sancionados', 'padron_mensual'])(
  'the page of %s looks good, also without publications',
  async (register, context) => {
    const page = await browser.open(context);
    await page.goto(`${site.url}/estado/${register}`);
    await expectGoodLooks(page, `estado-${register}`);
  },
);

test('the table of a register opens without JavaScript, and an unknown register is not found', async (context) => {
  const page = await browser.open(context, { scripts: false });
  await page.goto(`${site.url}/estado/padron_reducido`);
  await page.click('summary');
  expect(await page.locator('details[open] tbody tr').first().isVisible()).toBe(true);
  expect((await page.goto(`${site.url}/estado/nada`))?.status()).toBe(404);
});

test('programs get the same as JSON, Atom and a calendar of what is expected', async () => {
  const get = async (path: string) => {
    const response = await fetch(`${site.url}${path}`);
    expect([path, response.status]).toEqual([path, 200]);
    expect(response.headers.get('cache-control')).toBe('public, max-age=60');
    return response;
  };
  const status = (await (await get('/estado.json')).json()) as { data: Record<string, unknown>[]; meta: unknown };
  expect(status.data).toHaveLength(7);
  expect(status.data[0]).toMatchObject({
    registro: 'padron_reducido',
    estado: 'al_dia',
    fecha_dato: '2026-11-29',
    edicion: 118,
    filas: 18_341_022,
    verificado_igual: true,
    carga_completa: false,
  });
  expect(status.meta).toEqual({ leido_en: '2026-11-29T10:00:00-05:00' });

  const atom = await get('/estado.atom');
  expect(atom.headers.get('content-type')).toBe('application/atom+xml; charset=utf-8');
  const xml = await atom.text();
  expect(xml).toContain('<id>urn:padron:edicion:padron_reducido:118</id>');
  expect(xml.match(/<entry>/g)).toHaveLength(100);

  const text = await (await get('/estado.ics')).text();
  const calendar = new ICAL.Component(ICAL.parse(text));
  const events = calendar.getAllSubcomponents('vevent').map((event) => new ICAL.Event(event));
  const daily = events.filter(({ uid }) => uid.includes('padron_reducido'));
  expect(daily).toHaveLength(7);
  expect(daily[0]!.startDate.toJSDate().toISOString()).toMatch(/^2026-11-30T07:/);
});

test('while the database is away, the last status is shown with its age', async (context) => {
  const away = makePool(database.DATABASE_URL, 'test', 1);
  const lonely = await startSite({ pool: away, now: () => now });
  try {
    const page = await browser.open(context);
    await page.goto(`${lonely.url}/estado`);
    await away.end();
    now = new Date(sceneNow.getTime() + 12 * 60_000);
    // The status in memory is young for some seconds, whatever the clock shows.
    await expect.poll(async () => (await page.reload())?.status()).toBe(200);
    expect(await page.textContent('.message.warn')).toContain('de hace 12 min');
    expect(await page.textContent('.intro')).toContain('1 de 4 registros');
    await expectGoodLooks(page, 'estado-sin-motores');
  } finally {
    now = sceneNow;
    await lonely.stop();
  }
});

test('right after a start without the database, the page says that nothing is known yet', async (context) => {
  const lonely = await startSite();
  try {
    const page = await browser.open(context);
    // The browser writes the status of this page on its console, so its looks are not checked here.
    expect((await page.goto(`${lonely.url}/estado`))?.status()).toBe(503);
    expect(await page.textContent('[role=alert]')).toContain('El estado todavía no se conoce');
    expect((await fetch(`${lonely.url}/estado.json`)).status).toBe(503);
    // What needs no engine is there.
    expect((await page.goto(`${lonely.url}/calendario`))?.status()).toBe(200);
  } finally {
    await lonely.stop();
  }
});

test('before anything is loaded, the page says so', async (context) => {
  const empty = await migratedDatabase(inject('endpoints'));
  const emptyPool = makePool(empty.DATABASE_URL, 'test', 2);
  const young = await startSite({ pool: emptyPool });
  try {
    const page = await browser.open(context);
    await page.goto(`${young.url}/estado`);
    expect(await page.textContent('.intro')).toBe('Todavía no se cargó ningún registro.');
    expect(await page.textContent('main')).toContain('Ninguna en los últimos 90 días.');
    await expectGoodLooks(page, 'estado-vacio');
    expect((await fetch(`${young.url}/estado.ics`)).status).toBe(200);
  } finally {
    await young.stop();
    await emptyPool.end();
    await empty.drop();
  }
});
