import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLink } from '../../api/pages/sessions/links.ts';
import { company, startLoadedApi } from '../support/api/loaded-api.ts';
import { makeCaller, type TestCaller } from '../support/api/process.ts';
import type { Surroundings } from '../support/api/surroundings.ts';
import { at, publicUrl, work } from '../support/api/webhook-scene.ts';
import { expectGoodLooks, useBrowser } from '../support/pages/browser.ts';
import { Visitor } from '../support/pages/visitor.ts';
import { rucOf } from '../support/registers/companies.ts';
import { writeChanges } from '../support/watch/events.ts';

// The looks of states that the journeys do not pass: many of everything, long names, no right, nothing found, an engine
// away.

const browser = useBrowser();
let around: Surroundings;
let url: string;
beforeAll(async () => {
  ({ around } = await startLoadedApi());
  url = around.api.url;
});
afterAll(() => around?.stop());

async function signIn(page: Page, { token }: TestCaller, path: string): Promise<void> {
  await page.goto(`${url}${path}`);
  await page.fill('#entrar-token', token);
  await page.click('main button');
}

async function post(by: TestCaller, path: string, json: unknown) {
  const answer = await by.request(`/id/v1/watch/${path}`, { method: 'POST', json });
  expect([path, answer.ok]).toEqual([path, true]);
  return (await answer.json()).data;
}

/** A name as a person may write it, without a place to break it. */
const long = (character: string) => character.repeat(60);

/** An account that uses all of it: more of each thing than a page shows. */
async function busyCustomer(): Promise<{ by: TestCaller; list: number; webhook: string }> {
  const by = await makeCaller(around.pool, url);
  const { id: list } = await post(by, 'listas', { nombre: long('M'), referencia: long('W') });
  for (let number = 0; number < 12; number += 1) await post(by, 'listas', { nombre: `Lista ${number}` });
  const rucs = Array.from({ length: 130 }, (_, number) => rucOf(700_000 + number));
  await post(by, `listas/${list}/rucs`, { rucs });
  const { id: webhook } = await post(by, 'webhooks', {
    url: `${publicUrl}/${long('x')}/${long('y')}`,
    descripcion: long('D'),
    listas: [list],
  });
  for (let number = 0; number < 5; number += 1)
    await post(by, 'webhooks', { url: `${publicUrl}/${number}`, descripcion: `Sistema ${number}` });
  await around.pool.query("UPDATE webhook SET created_at = '2026-01-01' WHERE account_id = $1", [by.accountId]);
  await writeChanges(around.pool, by, { list, edition: 2, rucs: rucs.slice(0, 40), detectedAt: at });
  await work(around, webhook, { success: true });
  await around.pool.query(
    `INSERT INTO token (id, account_id, secret_sha256, name, revoked_at)
     SELECT md5(n::text || ($1::bigint)::text), $1::bigint, decode(repeat('ab', 32), 'hex'), repeat('T', 60), CASE WHEN n > 5 THEN now() END
     FROM generate_series(1, 9) AS n`,
    [by.accountId],
  );
  return { by, list, webhook };
}

test('many of everything, and names that do not break', async (context) => {
  const { by, list, webhook } = await busyCustomer();
  const page = await browser.open(context);
  await signIn(page, by, '/consola/resumen');
  const [{ id: delivery }] = (
    await around.pool.query<{ id: string }>('SELECT id FROM delivery WHERE webhook_id = $1 LIMIT 1', [webhook])
  ).rows as [{ id: string }];
  const states: [string, string][] = [
    ['/consola/resumen', 'muchos-resumen'],
    ['/consola/eventos', 'muchos-eventos'],
    ['/consola/listas', 'muchas-listas'],
    [`/consola/listas/${list}`, 'muchas-empresas'],
    ['/consola/webhooks', 'muchos-webhooks'],
    [`/consola/webhooks/${webhook}`, 'muchas-entregas-webhook'],
    [`/consola/webhooks/${webhook}/cambiar`, 'webhook-cambiar'],
    [`/consola/webhooks/${webhook}/entregas`, 'muchas-entregas'],
    [`/consola/entregas/${delivery}`, 'entrega-entregada'],
    ['/consola/tokens', 'muchos-tokens'],
  ];
  for (const [path, name] of states) {
    expect((await page.goto(`${url}${path}`))?.status()).toBe(200);
    await expectGoodLooks(page, name);
  }
  await page.goto(`${url}/consola/eventos`);
  await page.click('text=Ver lo anterior');
  expect(await page.locator('.event').count()).toBe(10);
  await expectGoodLooks(page, 'eventos-ultima-pagina');
});

const browserEncodings = { 'accept-encoding': 'gzip, deflate, br' };

/** Bytes of a page as a browser gets it: compressed, with the style sheet and the scripts that it loads. */
async function weightOf(visitor: Visitor, path: string): Promise<number> {
  const sizeOf = ({ headers }: { headers: Headers }) => Number(headers.get('content-length'));
  const page = await visitor.get(path, browserEncodings);
  const files = [...page.html.matchAll(/(?:src|href)="(\/recursos\/[^"]+)"/g)].map(([, file]) => file!);
  const sizes = [sizeOf(page)];
  for (const file of new Set(files)) sizes.push(sizeOf(await visitor.get(file, browserEncodings)));
  expect(Math.min(...sizes)).toBeGreaterThan(0);
  return sizes.reduce((sum, size) => sum + size, 0);
}

test('a page with all its files is at most 60 kB, however much it shows', async () => {
  const { by, list, webhook } = await busyCustomer();
  const visitor = new Visitor(url);
  await visitor.signIn(by.token);
  const paths = [
    '/consola/resumen',
    '/consola/empresas?q=comercial',
    `/consola/empresas/${company}`,
    `/consola/empresas/${company}/historial`,
    '/consola/eventos',
    '/consola/listas',
    `/consola/listas/${list}`,
    '/consola/webhooks',
    `/consola/webhooks/${webhook}`,
    `/consola/webhooks/${webhook}/cambiar`,
    `/consola/webhooks/${webhook}/entregas`,
    '/consola/firmas',
    '/consola/tokens',
  ];
  for (const path of paths) expect(await weightOf(visitor, path), path).toBeLessThanOrEqual(60_000);
});

test('change a webhook: the wrong field keeps what was typed, and the right one is saved', async (context) => {
  const { by, list, webhook } = await busyCustomer();
  const page = await browser.open(context, { scripts: false });
  await signIn(page, by, `/consola/webhooks/${webhook}`);
  await page.click('text=Cambiar dirección');
  expect(await page.isChecked(`input[name="listas"][value="${list}"]`)).toBe(true);
  await page.fill('#cambiar-url', 'http://10.0.0.1/');
  await page.fill('#cambiar-descripcion', 'ERP nuevo');
  await page.uncheck(`input[name="listas"][value="${list}"]`);
  await page.check('input[name="listas"][value="todas"]');
  await page.check('input[name="eventos"][value="ruc.baja"]');
  await page.fill('#cambiar-limite_por_segundo', '500');
  await page.click('main form button');
  expect(await page.textContent('#cambiar-limite_por_segundo-error')).toContain('200');
  await page.fill('#cambiar-limite_por_segundo', '50');
  await page.click('main form button');
  expect(await page.textContent('#cambiar-url-error')).toBe('Debe empezar con https://.');
  expect(await page.inputValue('#cambiar-descripcion')).toBe('ERP nuevo');
  expect(await page.isChecked(`input[name="listas"][value="${list}"]`)).toBe(false);
  await page.fill('#cambiar-url', `${publicUrl}/nuevo`);
  await page.click('main form button');
  expect(await page.textContent('[role=status]')).toBe('El webhook está cambiado.');
  const { data } = await (await by.request(`/id/v1/watch/webhooks/${webhook}`)).json();
  expect(data).toMatchObject({
    url: `${publicUrl}/nuevo`,
    descripcion: 'ERP nuevo',
    eventos: ['ruc.baja'],
    listas: null,
    limite_por_segundo: 50,
  });
});

async function look(page: Page, path: string, status: number, name: string): Promise<void> {
  expect([path, (await page.goto(`${url}${path}`))?.status()]).toEqual([path, status]);
  await expectGoodLooks(page, name);
}

test('nothing found, a smaller plan, a used-up quota, an engine away', async (context) => {
  const by = await makeCaller(around.pool, url);
  const page = await browser.open(context);
  await signIn(page, by, '/consola/avisos');
  await expectGoodLooks(page, 'avisos-vacio');
  await look(page, '/consola/empresas?q=zzzzyyyy', 200, 'empresas-ninguna');
  await look(page, `/consola/empresas/${rucOf(999_998)}`, 404, 'empresa-no-figura');
  await look(page, '/consola/webhooks/wh_ajeno', 404, 'consola-no-existe');
  await look(page, '/consola/nada', 404, 'consola-sin-pagina');
  await around.clickhouseLine.cut();
  try {
    await look(page, `/consola/empresas/${company}`, 503, 'empresa-sin-motor');
  } finally {
    await around.clickhouseLine.mend();
  }

  await around.pool.query("UPDATE plan SET lookups_per_month = 0 WHERE name = 'micro'");
  await around.pool.query("UPDATE account SET plan = 'micro' WHERE id = $1", [by.accountId]);
  await look(page, '/consola/eventos', 403, 'consola-plan-menor');
  await expect.poll(async () => (await page.goto(`${url}/consola/empresas/${company}`))?.status()).toBe(429);
  await expectGoodLooks(page, 'empresa-cuota-agotada');
});

test('an account with lists from a former plan, and a link that only looks', async (context) => {
  const page = await browser.open(context);
  const { by: former, list, webhook } = await busyCustomer();
  await around.pool.query("UPDATE account SET plan = 'micro' WHERE id = $1", [former.accountId]);
  await signIn(page, former, '/consola/eventos');
  expect(await page.locator('[data-stream]').count()).toBe(0);
  await look(page, `/consola/listas/${list}`, 200, 'lista-plan-menor');

  const link = (await createLink(around.pool, {
    accountId: former.accountId,
    tokenId: null,
    capabilities: [],
    name: 'Ana',
    hours: 1,
  }))!;
  await page.context().clearCookies();
  await page.goto(`${url}${link.path}`);
  await page.click('main button');
  await look(page, `/consola/webhooks/${webhook}`, 200, 'webhook-solo-ver');
  expect(await page.locator('main form').count()).toBe(0);
  await look(page, `/consola/listas/${list}`, 200, 'lista-solo-ver');
});
