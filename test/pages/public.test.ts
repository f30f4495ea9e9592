import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectGoodLooks, useBrowser } from '../support/pages/browser.ts';
import { type Site, startSite } from '../support/pages/site.ts';

// What anybody finds without an account.

const browser = useBrowser();
let site: Site;
beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site?.stop());

test('from the first page to the text about an error', async (context) => {
  const page = await browser.open(context);
  await page.goto(site.url);
  await expectGoodLooks(page, 'inicio');
  expect(await page.textContent('pre')).toContain(`${site.url}/id/v1/calendario/2026-07-28`);

  await page.click('nav >> text=Errores');
  await expectGoodLooks(page, 'errores');
  await page.click('text=cuota_agotada');
  expect(await page.textContent('h1')).toBe('Se agotó la cuota del mes y el saldo prepago');
  await expectGoodLooks(page, 'error');
  await page.click('.path a');
  expect(page.url()).toBe(`${site.url}/errores#cuota_agotada`);
});

test('a wrong address gives a page that leads on', async (context) => {
  const page = await browser.open(context, { scripts: false });
  const response = await page.goto(`${site.url}/no-existe`);
  expect(response?.status()).toBe(404);
  expect(await page.textContent('h1')).toBe('La página no existe');
});

test('the keyboard reaches the content first, and always shows where it is', async (context) => {
  const page = await browser.open(context);
  await page.goto(site.url);
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Ir al contenido');
  const outline = () => page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
  for (let place = 0; place < 6; place += 1) {
    expect(await outline()).toBe('solid');
    await page.keyboard.press('Tab');
  }
});
