import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createAccount } from '../../api/accounts/accounts.ts';
import { createToken, revokeToken } from '../../api/accounts/tokens.ts';
import { makeConsolePages } from '../../api/pages/console/pages.ts';
import { createLink, redeemLink } from '../../api/pages/sessions/links.ts';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { type Capability, capabilities } from '../../schemas/http/account.ts';
import { type FreshDatabase, migratedDatabase } from '../support/engines/isolation.ts';
import { expectGoodLooks, useBrowser } from '../support/pages/browser.ts';
import { type Site, startSite } from '../support/pages/site.ts';
import { Visitor } from '../support/pages/visitor.ts';

// What a session may do: links with capabilities, tokens, and the token asked for again.

const browser = useBrowser();
let database: FreshDatabase;
let pool: Pool;
let site: Site;
beforeAll(async () => {
  database = await migratedDatabase(inject('endpoints'));
  pool = makePool(database.DATABASE_URL, 'test', 6);
  site = await startSite({ pool });
});
afterAll(async () => {
  await site?.stop();
  await pool?.end();
  await database?.drop();
});

async function customer(name = 'Comercial de Prueba S.A.C.') {
  const accountId = await createAccount(pool, { name, plan: 'empresa', email: null, contract: null });
  const { id: tokenId, token } = (await createToken(pool, accountId))!;
  return { accountId, tokenId, token };
}

type Customer = Awaited<ReturnType<typeof customer>>;

async function linkOf(
  { accountId }: Pick<Customer, 'accountId'>,
  allowed: Capability[],
  tokenId: string | null = null,
) {
  return (await createLink(pool, { accountId, tokenId, capabilities: allowed, name: 'Ana', hours: 1 }))!;
}

async function openLink(path: string): Promise<{ visitor: Visitor; location: string | null; status: number }> {
  const visitor = new Visitor(site.url);
  await visitor.get(path);
  const clave = new URL(path, site.url).searchParams.get('clave')!;
  const answer = await visitor.post(path, { form: 'abrir', fields: { clave } });
  if (answer.status === 303) await visitor.get('/consola/resumen');
  return { visitor, location: answer.headers.get('location'), status: answer.status };
}

const unconfirm = (accountId: number) =>
  pool.query("UPDATE console_session SET confirmed_at = now() - interval '6 minutes' WHERE account_id = $1", [
    accountId,
  ]);

const parameters: Readonly<Record<string, string>> = { ruc: '20990000019', lista: '1' };
const forms = makeConsolePages({} as never).flatMap(({ path, rules }) =>
  Object.entries(rules?.forms ?? {}).map(([form, rule]) => ({
    form,
    needs: rule.needs,
    isConfirmed: 'isConfirmed' in rule && rule.isConfirmed === true,
    path: path.replace(/\{(\w+)\}/g, (_, name: string) => parameters[name] ?? 'x'),
  })),
);

test('a link that only looks is refused by every form that acts, before anything else', async () => {
  const { visitor } = await openLink((await linkOf(await customer(), [])).path);
  const acting = forms.filter(({ needs }) => needs.some((each) => each !== 'ver'));
  expect(acting.length).toBeGreaterThan(15);
  for (const { path, form } of acting) {
    const { status, html } = await visitor.post(path, { form });
    expect([path, form, status, html.includes('no permite')]).toEqual([path, form, 403, true]);
  }
});

test.each(capabilities.filter((each) => each !== 'ver'))(
  'a link with %s passes its own forms and no others',
  async (allowed) => {
    const { visitor } = await openLink((await linkOf(await customer(), [allowed])).path);
    for (const { path, form, needs } of forms) {
      const { status } = await visitor.post(path, { form });
      const isAllowed = needs.every((each) => each === 'ver' || each === allowed);
      // Without its fields a form that is allowed is refused for another reason.
      expect([path, form, status === 403]).toEqual([path, form, !isAllowed]);
    }
  },
);

test('who may not send a form does not see it', async () => {
  const account = await customer();
  const { visitor } = await openLink((await linkOf(account, [])).path);
  const shown = async (path: string) => (await visitor.get(path)).html;
  expect(await shown('/consola/tokens')).not.toMatch(/name="formulario" value="(crear|revocar|enlazar|anular)"/);
  expect(await shown('/consola/listas')).not.toContain('value="crear"');
  expect(await shown('/consola/webhooks')).not.toContain('Crear un webhook');
  expect(await shown('/consola/resumen')).toContain('value="salir"');
});

test('what shows a secret or deletes asks for the token again after five minutes', async () => {
  const account = await customer();
  const visitor = new Visitor(site.url);
  await visitor.signIn(account.token);
  await unconfirm(account.accountId);
  const confirmed = forms.filter((each) => each.isConfirmed);
  expect(confirmed.map(({ form }) => form).sort()).toEqual(
    ['borrar', 'borrar', 'crear', 'crear', 'enlazar', 'revocar', 'rotar'].sort(),
  );
  for (const { path, form } of confirmed) {
    const { status, headers } = await visitor.post(path, { form });
    expect([form, status, headers.get('location')]).toEqual([
      form,
      303,
      `/consola/confirmar?${new URLSearchParams({ volver: path })}`,
    ]);
  }
  expect((await visitor.get('/consola/webhooks/nuevo')).headers.get('location')).toContain('/consola/confirmar');

  await visitor.get('/consola/confirmar');
  const stranger = await customer();
  const path = '/consola/confirmar?volver=%2Fconsola%2Ftokens';
  for (const [token, text] of [
    [stranger.token, 'El token es de otra cuenta.'],
    ['pad_live_x', 'El token no es de ninguna cuenta'],
  ] as const) {
    const refused = await visitor.post(path, { form: 'confirmar', fields: { token } });
    expect([refused.status, refused.html.includes(text), refused.html.includes(token)]).toEqual([422, true, false]);
  }
  const right = await visitor.post(path, { form: 'confirmar', fields: { token: account.token } });
  expect(right.headers.get('location')).toBe('/consola/tokens');
  const made = await visitor.post('/consola/tokens', { form: 'crear', fields: { nombre: 'ERP' } });
  expect(made.html).toMatch(/pad_live_[0-9a-f]{16}_[0-9a-f]{48}/);
  expect(site.logLines()).not.toMatch(/pad_live_[0-9a-f]{16}_/);
});

test('make a token, name it, see its use, revoke it', async (context) => {
  const account = await customer();
  const page = await browser.open(context);
  await page.goto(`${site.url}/consola/tokens`);
  await page.fill('#entrar-token', account.token);
  await page.click('main button');
  await expectGoodLooks(page, 'tokens');
  await page.fill('#crear-nombre', 'Servidor de facturación');
  await page.click('form:has(#crear-nombre) button');
  const token = await page.textContent('.code-box code');
  await expectGoodLooks(page, 'token-creado');
  await fetch(`${site.url}/id/v1/cuenta`, { headers: { authorization: `Bearer ${token}` } });
  await page.click('text=Ya lo guardé');
  const row = page.locator('tr:has-text("Servidor de facturación")');
  await expect
    .poll(async () => {
      await page.reload();
      return row.textContent();
    })
    .not.toContain('ninguno conocido');
  await row.locator('button').click();
  expect(await page.textContent('[role=status]')).toContain('El token está revocado.');
  expect(await row.textContent()).toContain('revocado');
  await expectGoodLooks(page, 'tokens-revocado');
});

test('a token or a link of another account cannot be revoked', async () => {
  const [account, other] = [await customer(), await customer()];
  const link = await linkOf(other, []);
  const visitor = new Visitor(site.url);
  await visitor.signIn(account.token);
  const token = await visitor.post('/consola/tokens', { form: 'revocar', fields: { token: other.tokenId } });
  const ended = await visitor.post('/consola/tokens', { form: 'anular', fields: { enlace: link.id } });
  expect([token.status, ended.status]).toEqual([404, 404]);
  expect((await openLink(link.path)).status).toBe(303);
});

test('make a link for a colleague, who enters once and sees only what it allows', async (context) => {
  const account = await customer();
  const page = await browser.open(context);
  await page.goto(`${site.url}/consola/tokens`);
  await page.fill('#entrar-token', account.token);
  await page.click('main button');
  await page.fill('#enlazar-para', 'Ana');
  await page.check('input[value="reenviar"]');
  await page.click('form:has(#enlazar-para) button');
  const address = (await page.textContent('.code-box code'))!;
  await expectGoodLooks(page, 'enlace-creado');
  await page.click('text=Ya lo copié');
  await expectGoodLooks(page, 'tokens-con-enlace');

  const colleague = await browser.open(context, { scripts: false });
  // A scanner of mails follows the link any number of times.
  for (let time = 0; time < 3; time += 1) expect((await fetch(address)).status).toBe(200);
  await colleague.goto(address);
  expect(await colleague.textContent('main')).toContain('volver a enviar entregas');
  await colleague.click('main button');
  expect(colleague.url()).toBe(`${site.url}/consola/resumen`);
  await colleague.goto(address);
  expect(await colleague.textContent('h1')).toBe('El enlace no vale');

  const looking = await browser.open(context);
  await looking.goto((await linkOf(account, [])).path.replace(/^/, site.url));
  await expectGoodLooks(looking, 'enlace');
  await looking.click('main button');
  await looking.goto(`${site.url}/consola/tokens`);
  await expectGoodLooks(looking, 'tokens-solo-ver');
  await looking.goto(address);
  await expectGoodLooks(looking, 'enlace-usado');
});

test('a link works once, also for two at the same time', async () => {
  const account = await customer();
  const link = await linkOf(account, []);
  const clave = new URL(link.path, site.url).searchParams.get('clave')!;
  const opened = await Promise.all(Array.from({ length: 5 }, () => redeemLink(pool, clave, 'x')));
  expect(opened.filter((secret) => secret !== null)).toHaveLength(1);
  const again = await openLink(link.path);
  expect(again.status).not.toBe(303);
});

test('a link ends when it expires, when it is taken back, and with the token that made it', async () => {
  const account = await customer();
  const ends: ((id: string) => Promise<unknown>)[] = [
    (id) => pool.query("UPDATE console_link SET expires_at = now() - interval '1 second' WHERE id = $1", [id]),
    (id) => pool.query('UPDATE console_link SET used_at = now() WHERE id = $1', [id]),
    () => revokeToken(pool, account.tokenId),
  ];
  for (const end of ends) {
    const link = await linkOf(account, [], account.tokenId);
    await end(link.id);
    expect((await new Visitor(site.url).get(link.path)).status).toBe(404);
    expect((await openLink(link.path)).status).not.toBe(303);
  }
  const other = await customer();
  const { visitor } = await openLink((await linkOf(other, [], other.tokenId)).path);
  expect((await visitor.get('/consola/resumen')).status).toBe(200);
  await revokeToken(pool, other.tokenId);
  expect((await visitor.get('/consola/resumen')).status).toBe(303);
});

test('the secret of a link is neither stored nor logged', async () => {
  const link = await linkOf(await customer(), []);
  const clave = new URL(link.path, site.url).searchParams.get('clave')!;
  await openLink(link.path);
  const { rows } = await pool.query('SELECT l::text AS line FROM console_link l');
  expect(JSON.stringify(rows)).not.toContain(clave);
  expect(site.logLines()).not.toContain(clave);
});

test('the API makes a link with the token’s account, which always lets its holder look', async () => {
  const account = await customer();
  const ask = (body: unknown) =>
    fetch(`${site.url}/id/v1/cuenta/enlaces`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const made = await (await ask({ permisos: ['reenviar'], horas: 2 })).json();
  expect(made.data.permisos).toEqual(['ver', 'reenviar']);
  expect((await openLink(made.data.enlace)).status).toBe(303);
  for (const body of [{ permisos: ['todo'] }, { horas: 0 }, { horas: 169 }, { para: '' }, { otro: 1 }])
    expect([body, (await ask(body)).status]).toEqual([body, 400]);
});

test('a link gives no more than the session that makes it has', async () => {
  const account = await customer();
  const { visitor } = await openLink((await linkOf(account, ['gestionar_tokens'])).path);
  const fields = { permisos: 'ver_secretos', horas: '1' };
  const made = await visitor.post('/consola/tokens', { form: 'enlazar', fields });
  expect(made.status).toBe(200);
  const { rows } = await pool.query<{ capabilities: string[] }>(
    'SELECT capabilities FROM console_link WHERE account_id = $1 AND used_at IS NULL',
    [account.accountId],
  );
  expect(rows).toEqual([{ capabilities: ['ver'] }]);
});
