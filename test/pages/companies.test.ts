import { afterAll, beforeAll, expect, test } from 'vitest';
import { barred, company, person, startLoadedApi, unknownCompany } from '../support/api/loaded-api.ts';
import { makeCaller, type TestCaller } from '../support/api/process.ts';
import type { Surroundings } from '../support/api/surroundings.ts';
import { expectGoodLooks, useBrowser } from '../support/pages/browser.ts';
import { Visitor } from '../support/pages/visitor.ts';

// What a customer learns about a company: search, record, history, and a supplier check as evidence.

const browser = useBrowser();
let around: Surroundings;
let caller: TestCaller;
let url: string;
beforeAll(async () => {
  ({ around, caller } = await startLoadedApi());
  url = around.api.url;
});
afterAll(() => around?.stop());

async function signedIn({ token } = caller): Promise<Visitor> {
  const visitor = new Visitor(url);
  await visitor.signIn(token);
  return visitor;
}

async function used({ accountId } = caller): Promise<number> {
  const { rows } = await around.pool.query<{ units: number }>(
    'SELECT coalesce(sum(units), 0)::int AS units FROM quota_day WHERE account_id = $1',
    [accountId],
  );
  return rows[0]!.units;
}

test('find a company, read its record, its history, and keep a supplier check', async (context) => {
  const page = await browser.open(context);
  await page.goto(`${url}/consola/empresas`);
  await page.fill('#entrar-token', caller.token);
  await page.click('main button');
  expect(page.url()).toBe(`${url}/consola/empresas`);
  await expectGoodLooks(page, 'empresas');

  await page.fill('#filtro-q', 'comercial pru');
  await page.locator('#filtro-q').dispatchEvent('input');
  await page.locator('.suggestions a').first().waitFor();
  expect(await page.textContent('.suggestions')).toContain('COMERCIAL PRUEBA UNO S.A.C.');
  await expectGoodLooks(page, 'empresas-sugerencias');
  await page.keyboard.press('Enter');
  await page.locator('tbody a').first().waitFor();
  await expectGoodLooks(page, 'empresas-resultados');
  await page.click('tbody a');

  expect(await page.textContent('h1')).toBe('COMERCIAL PRUEBA UNO S.A.C.');
  expect(await page.textContent('tr:has-text("Trabajadores")')).toContain('12');
  expect(await page.textContent('tr:has-text("Agente de retención")')).toMatch(/sí.*20 de noviembre de 2026/s);
  await expectGoodLooks(page, 'empresa');
  await page.emulateMedia({ media: 'print' });
  expect(await page.isVisible('.filters')).toBe(false);
  expect(await page.textContent('main')).toMatch(/SHA-256 de la respuesta[0-9a-f]{64}/);
  await page.emulateMedia({ media: 'screen' });

  await page.fill('#filtro-fecha', '2026-11-25');
  await page.click('.filters button');
  expect(await page.textContent('tr:has-text("Estado")')).toContain('SUSPENSIÓN TEMPORAL');
  await page.fill('#filtro-fecha', '2099-01-01');
  await page.click('.filters button');
  expect(await page.textContent('.error')).toBe('No puede ser una fecha futura.');
  await expectGoodLooks(page, 'empresa-fecha-errada');

  await page.click('text=Historial');
  expect(await page.textContent('.timeline')).toMatch(/26 de noviembre.*Estado.*SUSPENSIÓN TEMPORAL.*ACTIVO/s);
  await expectGoodLooks(page, 'empresa-historial');

  await page.goto(`${url}/consola/empresas/${barred}/proveedor`);
  await expectGoodLooks(page, 'proveedor');
  await page.click('main form button');
  expect(page.url()).toMatch(/\/consola\/proveedores\/[0-9a-f-]{36}$/);
  expect(await page.textContent('main')).toContain('Inhabilitado para contratar con el Estado');
  await expectGoodLooks(page, 'proveedor-constancia');
});

test('all of it works without JavaScript', async (context) => {
  const page = await browser.open(context, { scripts: false });
  await page.goto(`${url}/consola/empresas?q=acme`);
  await page.fill('#entrar-token', caller.token);
  await page.click('main button');
  await page.click('tbody a');
  expect(await page.textContent('h1')).toBe('ACME PERÚ S.A.A.');
});

test('a page costs what the same request to the API costs, and suggestions cost nothing', async () => {
  const visitor = await signedIn();
  const costs: [string, number][] = [
    ['/consola/empresas', 0],
    ['/consola/empresas/sugerencias?q=acme', 0],
    ['/consola/empresas?q=acme', 1],
    ['/consola/empresas?q=zzzyyyxxx', 0],
    [`/consola/empresas/${company}`, 1],
    [`/consola/empresas/${unknownCompany}`, 0],
    [`/consola/empresas/${company}/historial`, 1],
    [`/consola/empresas/${company}/proveedor`, 0],
  ];
  for (const [path, units] of costs) {
    const before = await used();
    await visitor.get(path);
    await expect.poll(async () => (await used()) - before, { message: path }).toBe(units);
  }
});

test('the hash of a record is that of the API’s answer', async () => {
  const visitor = await signedIn();
  const { html } = await visitor.get(`/consola/empresas/${company}`);
  const answer = await (await caller.request(`/id/v1/ruc/${company}`)).text();
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(answer));
  expect(html).toContain(Buffer.from(bytes).toString('hex'));
});

test.each([
  [`/consola/empresas/${unknownCompany}`, 404, 'no figura en la edición'],
  ['/consola/empresas/123', 400, 'El RUC tiene 11 dígitos'],
  ['/consola/empresas/20990000018', 400, 'debería ser'],
  [`/consola/empresas/${person}`, 403, 'contrato de tratamiento de datos'],
  [`/consola/empresas/${person}/historial`, 403, 'contrato de tratamiento de datos'],
  [`/consola/empresas/${company}?fecha=2020-01-01`, 404, 'Los datos de este servicio empiezan el'],
  ['/consola/empresas?q=ab', 422, 'Debe tener de 3 a 100 letras o dígitos.'],
  ['/consola/empresas?q=acme&cursor=x', 422, 'cursor de esta lista'],
  ['/consola/proveedores/3f8e8a52-6a1c-4a0e-9d0b-2f6a4c1d7e90', 404, 'La consulta no existe.'],
  ["/consola/proveedores/' OR 1=1", 404, 'La consulta no existe.'],
])('%s answers %i and says why', async (path, status, text) => {
  const visitor = await signedIn();
  const answer = await visitor.get(path);
  expect([answer.status, answer.html.includes(text)]).toEqual([status, true]);
  expect(answer.html).not.toContain('PERSONA PLANTADA');
});

test('a number in the search leads to its record, with blanks too', async () => {
  const visitor = await signedIn();
  const { headers } = await visitor.get(`/consola/empresas?q=${company.slice(0, 2)}+${company.slice(2)}`);
  expect(headers.get('location')).toBe(`/consola/empresas/${company}`);
});

test('with a contract a person is shown, recorded in the audit, and not in the log', async () => {
  const contract = { reference: 'CTD-2026-014', from: '2026-01-01', until: null };
  const holder = await makeCaller(around.pool, url, { contract });
  const visitor = await signedIn(holder);
  const { html, status } = await visitor.get(`/consola/empresas/${person}`);
  expect([status, html.includes('PERSONA PLANTADA')]).toEqual([200, true]);
  const { rows } = await around.pool.query(
    'SELECT route, contract_reference FROM natural_person_audit WHERE account_id = $1',
    [holder.accountId],
  );
  expect(rows).toEqual([{ route: '/consola/empresas/:ruc', contract_reference: 'CTD-2026-014' }]);
  expect(around.api.output()).not.toMatch(/PERSONA PLANTADA|10990000013/);
});

test('a plan without search says which plan has it, in the console', async () => {
  const small = await makeCaller(around.pool, url, { plan: 'free' });
  const visitor = await signedIn(small);
  for (const path of ['/consola/empresas', `/consola/empresas/${company}/historial`]) {
    const { status, html } = await visitor.get(path);
    expect([status, html.includes('desde el plan micro'), html.includes('aria-label="Consola"')]).toEqual([
      403,
      true,
      true,
    ]);
  }
  expect((await visitor.get(`/consola/empresas/${company}`)).status).toBe(200);
});

test('the changes of an edition are the API’s file, for the plan that has them', async () => {
  const path = 'ediciones/padron_reducido/2/cambios';
  const engineer = await makeCaller(around.pool, url, { plan: 'empresa' });
  const visitor = await signedIn(engineer);
  // The file is made when it is first asked for, by a process that gives way to all others.
  await expect
    .poll(async () => (await visitor.get(`/consola/${path}`)).status, { timeout: 90_000, interval: 500 })
    .toBe(200);
  const { html, headers } = await visitor.get(`/consola/${path}`);
  expect(headers.get('content-disposition')).toBe('attachment; filename="padron_reducido-000002-2026-11-26.ndjson"');
  expect(html).toBe(await (await engineer.request(`/id/v1/${path}`)).text());
  expect((await visitor.get('/consola/ediciones/padron_reducido/99/cambios')).status).toBe(404);
  expect((await visitor.get('/consola/ediciones/otro/1/cambios')).status).toBe(404);
  expect((await (await signedIn()).get(`/consola/${path}`)).status).toBe(403);
});

test('a check of another account is not found', async () => {
  const visitor = await signedIn();
  await visitor.get(`/consola/empresas/${barred}/proveedor`);
  const made = await visitor.post(`/consola/empresas/${barred}/proveedor`, { form: 'evaluar' });
  const path = made.headers.get('location')!;
  expect((await visitor.get(path)).status).toBe(200);
  const stranger = await signedIn(await makeCaller(around.pool, url));
  expect((await stranger.get(path)).status).toBe(404);
});

test('without ClickHouse a record says that the service is away', async () => {
  const visitor = await signedIn();
  await around.clickhouseLine.cut();
  try {
    const { status, html } = await visitor.get(`/consola/empresas/${barred}`);
    expect([status, html.includes('no está disponible')]).toEqual([503, true]);
    expect((await visitor.get('/consola/resumen')).status).toBe(200);
  } finally {
    await around.clickhouseLine.mend();
  }
});
