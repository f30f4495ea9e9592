import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createAccount } from '../../api/accounts/accounts.ts';
import { createToken } from '../../api/accounts/tokens.ts';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { type FreshDatabase, migratedDatabase } from '../support/engines/isolation.ts';
import { expectGoodLooks, useBrowser } from '../support/pages/browser.ts';
import { type Site, startSite } from '../support/pages/site.ts';

// What a customer does in the console.

const browser = useBrowser();
let database: FreshDatabase;
let pool: Pool;
let site: Site;
let token: string;
beforeAll(async () => {
  database = await migratedDatabase(inject('endpoints'));
  pool = makePool(database.DATABASE_URL, 'test', 4);
  site = await startSite({ pool });
  const name = 'Corporación Peruana de Representaciones e Importaciones Generales del Norte S.A.C.';
  const contract = { reference: 'CTD-2026-014', from: '2026-01-01', until: null };
  const accountId = await createAccount(pool, { name, plan: 'crecimiento', email: null, contract });
  token = (await createToken(pool, accountId))!.token;
  await pool.query(
    `INSERT INTO quota_month (account_id, month, used)
     VALUES ($1, date_trunc('month', now() AT TIME ZONE 'America/Lima')::date, 12345)`,
    [accountId],
  );
});

/** Sets the use of the last days, the newest last. */
async function setDailyUse(units: readonly number[]): Promise<void> {
  await pool.query('DELETE FROM quota_day');
  await pool.query(
    `INSERT INTO quota_day (account_id, day, units)
     SELECT a.id, (now() AT TIME ZONE 'America/Lima')::date - ($1::int - n::int), u
     FROM account a, unnest($2::bigint[]) WITH ORDINALITY AS use (u, n)`,
    [units.length, units],
  );
}
afterAll(async () => {
  await site?.stop();
  await pool?.end();
  await database?.drop();
});

test('sign in after a mistake, see the month’s use, end the other session, sign out', async (context) => {
  const page = await browser.open(context);
  await page.goto(`${site.url}/consola/resumen`);
  await expectGoodLooks(page, 'consola-entrar');

  await page.getByLabel('Nombre de la sesión').fill('Laptop de contabilidad');
  await page.fill('#entrar-token', 'pad_live_mal');
  await page.keyboard.press('Enter');
  expect(await page.textContent('#entrar-token-error')).toContain('El token no es de ninguna cuenta.');
  expect(await page.inputValue('#entrar-nombre')).toBe('Laptop de contabilidad');
  expect(await page.inputValue('#entrar-token')).toBe('');
  await expectGoodLooks(page, 'consola-entrar-error');

  await page.fill('#entrar-token', token);
  await page.click('main button');
  expect(page.url()).toBe(`${site.url}/consola/resumen`);
  expect(await page.textContent('.facts')).toContain('12,345 de 100,000');
  expect(await page.textContent('main')).toContain('Todavía no hay consultas.');
  await expectGoodLooks(page, 'consola-resumen-una-sesion');

  await setDailyUse([812]);
  await page.reload();
  expect(await page.textContent('main')).toContain('después del primer día completo');
  await expectGoodLooks(page, 'consola-resumen-un-dia');
  await setDailyUse([...Array.from({ length: 20 }, (_, day) => (day % 7 === 0 ? 0 : 900 + day * 31)), 40_000]);
  await page.reload();
  expect(await page.textContent('.chart + details')).toContain('40,000');
  await page.click('summary');
  await expectGoodLooks(page, 'consola-resumen-uso');

  const phone = await browser.open(context);
  await phone.goto(`${site.url}/consola`);
  await phone.fill('#entrar-token', token);
  await phone.click('main button');
  await page.reload();
  await expectGoodLooks(page, 'consola-resumen');
  await page.click('tr:has-text("Chrome"):not(:has-text("esta sesión")) button');
  expect(await page.textContent('[role=status]')).toBe('La sesión se terminó.');
  await expectGoodLooks(page, 'consola-resumen-hecho');
  await phone.reload();
  expect(await phone.textContent('h1')).toBe('Entrar a la consola');

  await page.click('nav.menu button');
  expect(page.url()).toBe(`${site.url}/consola?hecho=salida`);
  await expectGoodLooks(page, 'consola-salida');
});

test('all of it works without JavaScript', async (context) => {
  const page = await browser.open(context, { scripts: false });
  await page.goto(`${site.url}/consola`);
  await page.fill('#entrar-token', token);
  await page.click('main button');
  expect(await page.textContent('tr:has-text("esta sesión")')).toContain('Chrome');
  await page.click('nav.menu button');
  expect(await page.textContent('[role=status]')).toBe('La sesión terminó. Hasta pronto.');
});

test('a form whose page is old is refused with a page that says what to do', async (context) => {
  const page = await browser.open(context);
  await page.goto(`${site.url}/consola`);
  await page.context().clearCookies();
  await page.fill('#entrar-token', token);
  await page.click('main button');
  expect(await page.textContent('h1')).toBe('El formulario no se aceptó');
  await expectGoodLooks(page, 'formulario-rechazado');
});
