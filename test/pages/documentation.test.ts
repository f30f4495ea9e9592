import { afterAll, beforeAll, expect, test } from 'vitest';
import { operations } from '../../api/operations.ts';
import { expectGoodLooks, useBrowser } from '../support/pages/browser.ts';
import { type Site, startSite } from '../support/pages/site.ts';
import { Visitor } from '../support/pages/visitor.ts';

// The documentation, and a request tried from it.

const browser = useBrowser();
let site: Site;
beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site?.stop());

test('find an operation, read it, and try it with the public token', async (context) => {
  const page = await browser.open(context);
  await page.goto(`${site.url}/docs`);
  await expectGoodLooks(page, 'docs');
  await page.click('text=Si un día es hábil');
  await expectGoodLooks(page, 'docs-operacion');
  await page.click('text=Probar esta operación');
  await expectGoodLooks(page, 'docs-probar');
  await page.click('main button[type=submit]');
  expect(await page.textContent('.outcome h2')).toBe('Respuesta: 200');
  expect(await page.textContent('.outcome code')).toContain('Fiestas Patrias');
  expect(await page.textContent('.outcome')).toContain(`'${site.url}/id/v1/calendario/2026-07-28'`);
  await expectGoodLooks(page, 'docs-respuesta');
  await page.getByLabel('fecha').fill('28/07/2026');
  await page.click('main button[type=submit]');
  expect(await page.textContent('.outcome h2')).toBe('Respuesta: 400');
  expect(await page.getByLabel('fecha').inputValue()).toBe('28/07/2026');
  await page.getByLabel('Token').fill('   ');
  await page.click('main button[type=submit]');
  expect(await page.textContent('.error')).toBe('Es obligatorio.');
  await expectGoodLooks(page, 'docs-probar-error');
});

test('an operation with a body, on a phone', async (context) => {
  const page = await browser.open(context);
  await page.goto(`${site.url}/docs/crearWebhook`);
  await expectGoodLooks(page, 'docs-operacion-con-cuerpo');
  await page.click('text=Probar esta operación');
  expect(await page.getByLabel('Cuerpo').inputValue()).toContain('"url"');
  await expectGoodLooks(page, 'docs-probar-con-cuerpo');
});

test('every operation has its page, and its form but for the stream and the file', async () => {
  const visitor = new Visitor(site.url);
  for (const name of Object.keys(operations)) {
    const { status, html } = await visitor.get(`/docs/${name}`);
    expect([name, status]).toEqual([name, 200]);
    expect(html).toContain('<h2>Código</h2>');
    const expected = ['seguirEventos', 'descargarCambios'].includes(name) ? 404 : 200;
    expect((await visitor.get(`/docs/${name}/probar`)).status, name).toBe(expected);
  }
});

test('what is tried is checked and limited like every request, and its answer is text', async () => {
  const visitor = new Visitor(site.url);
  const path = '/docs/calcularPlazo/probar';
  await visitor.get(path);
  const evil = '<script>alert(1)</script>';
  const fields = { token: 'pad_sandbox_publico', desde: '2026-07-24', dias: evil };
  const answer = await visitor.post(path, { form: 'probar', fields });
  expect(answer.status).toBe(200);
  expect(answer.html).toContain('Respuesta: 400');
  expect(answer.html).not.toContain(evil);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  // The request inside has its own line in the log, with the route and without what was asked.
  expect(site.logLines()).toContain('"route":"/id/v1/calendario/plazo"');
  expect(site.logLines()).not.toContain('pad_sandbox_publico');
  const sandbox = await visitor.post('/docs/consultarRuc/probar', {
    form: 'probar',
    fields: { token: 'pad_sandbox_publico', ruc: '20131312955' },
  });
  expect(sandbox.html).toContain('token_sandbox');
  // With PostgreSQL away an operation that needs it says so, and the page stays.
  const away = await visitor.post('/docs/verCuenta/probar', {
    form: 'probar',
    fields: { token: `pad_live_${'0a'.repeat(8)}_${'1b'.repeat(24)}` },
  });
  expect(away.html).toContain('Respuesta: 503');
});
