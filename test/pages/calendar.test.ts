import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectGoodLooks, useBrowser } from '../support/pages/browser.ts';
import { type Site, startSite } from '../support/pages/site.ts';
import { Visitor } from '../support/pages/visitor.ts';

// The tax calendar for people. No engine is needed for it.

const browser = useBrowser();
let site: Site;
beforeAll(async () => {
  site = await startSite({ now: () => new Date('2026-07-24T15:00:00Z') });
});
afterAll(() => site?.stop());

test('from the year’s table to the due dates of a digit, in one’s own calendar', async (context) => {
  const page = await browser.open(context);
  await page.goto(site.url);
  await page.click('nav >> text=Calendario');
  expect(await page.locator('tbody tr').count()).toBe(12);
  await expectGoodLooks(page, 'calendario');

  await page.selectOption('#filtro-digito', '7');
  await page.click('text=Ver vencimientos');
  expect(page.url()).toContain('digito=7');
  expect(await page.textContent('h2')).toBe('Próximos vencimientos, RUC terminado en 7');
  expect(await page.locator('tbody tr').count()).toBe(12);
  await expectGoodLooks(page, 'calendario-digito');

  // What the button leads to is served.
  const webcal = await page.getAttribute('.subscribe .button', 'href');
  expect(webcal).toMatch(/^webcal:\/\/127\.0\.0\.1:/);
  const feed = await fetch(webcal!.replace(/^webcal/, 'http'));
  expect([feed.status, feed.headers.get('content-type')]).toEqual([200, 'text/calendar; charset=utf-8']);
  expect(await feed.text()).toContain('RUC terminado en 7');

  await page.selectOption('#filtro-grupo', 'buenos');
  await page.click('text=Ver vencimientos');
  expect(await page.textContent('h2')).toBe('Próximos vencimientos, buenos contribuyentes');
});

test('a deadline shows each skipped day with its norm, and a wrong one keeps what was typed', async (context) => {
  const page = await browser.open(context);
  await page.goto(`${site.url}/calendario/plazo`);
  await expectGoodLooks(page, 'plazo');
  await page.fill('#filtro-desde', '2026-07-24');
  await page.fill('#filtro-dias', '1');
  await page.selectOption('#filtro-sector', 'publico');
  await page.click('form.filters button');
  expect(await page.textContent('h2')).toBe('Vence el jueves, 30 de julio de 2026');
  expect(await page.locator('tbody tr').count()).toBe(5);
  expect(await page.locator('tbody td:nth-child(3):empty').count()).toBe(0);
  await expectGoodLooks(page, 'plazo-resultado');

  await page.fill('#filtro-dias', '0');
  await page.click('form.filters button');
  expect(await page.textContent('#filtro-dias-error')).toBe('Escriba un número entero de 1 a 1000.');
  expect(await page.inputValue('#filtro-desde')).toBe('2026-07-24');
});

test('the holidays of a year, and a year that is not covered', async (context) => {
  const page = await browser.open(context, { scripts: false });
  await page.goto(`${site.url}/calendario/feriados`);
  expect(await page.textContent('h2')).toBe('2026');
  expect(await page.textContent('table')).toContain('Fiestas Patrias');
  await page.fill('#filtro-anio', '1900');
  await page.click('form.filters button');
  expect(await page.textContent('[role=status]')).toBe('El calendario cubre los años 1995 a 2199.');
});

test('the holidays look good', async (context) => {
  const page = await browser.open(context);
  await page.goto(`${site.url}/calendario/feriados?anio=2026`);
  await expectGoodLooks(page, 'feriados');
  await page.goto(`${site.url}/calendario/feriados?anio=2080`);
  await expectGoodLooks(page, 'feriados-provisional');
});

test('a whole RUC in the address is refused and neither shown nor logged', async () => {
  const { status, html } = await new Visitor(site.url).get('/calendario?digito=10990000013');
  expect(status).toBe(422);
  expect(html).toContain('El RUC entero no se pide ni se guarda.');
  expect(html).not.toContain('10990000013');
  expect(site.logLines()).not.toContain('10990000013');
});
