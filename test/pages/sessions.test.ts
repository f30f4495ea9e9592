import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createAccount } from '../../api/accounts/accounts.ts';
import { createToken, revokeToken } from '../../api/accounts/tokens.ts';
import { removeExpired } from '../../api/expired.ts';
import { contentPolicy } from '../../api/pages/answers.ts';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { sandboxToken, strangerToken } from '../support/api/calendar-app.ts';
import { type FreshDatabase, migratedDatabase } from '../support/engines/isolation.ts';
import { type Site, startSite } from '../support/pages/site.ts';
import { type Shown, Visitor } from '../support/pages/visitor.ts';

// Sessions and forms under attack, over HTTP without a browser.

let database: FreshDatabase;
let pool: Pool;
let site: Site;
beforeAll(async () => {
  database = await migratedDatabase(inject('endpoints'));
  pool = makePool(database.DATABASE_URL, 'test', 4);
  site = await startSite({ pool });
});
afterAll(async () => {
  await site?.stop();
  await pool?.end();
  await database?.drop();
});

const cookieName = 'padron_consola';

async function customer(name = 'Comercial de Prueba S.A.C.') {
  const accountId = await createAccount(pool, { name, plan: 'crecimiento', email: null, contract: null });
  const { id: tokenId, token } = (await createToken(pool, accountId))!;
  return { accountId, tokenId, token };
}

async function signedIn(name?: string) {
  const account = await customer(name);
  const visitor = new Visitor(site.url);
  expect((await visitor.signIn(account.token)).status).toBe(303);
  return { ...account, visitor };
}

const sessionIds = async (accountId: number): Promise<string[]> => {
  const { rows } = await pool.query<{ id: string }>(
    'SELECT id FROM console_session WHERE account_id = $1 ORDER BY started_at',
    [accountId],
  );
  return rows.map(({ id }) => id);
};

function expectSignIn({ status, headers }: Shown): void {
  expect(status).toBe(303);
  expect(headers.get('location')).toMatch(/^\/consola\?/);
}

test('a token opens a session, whose cookie scripts and other sites cannot read', async () => {
  const { token, accountId } = await customer();
  const visitor = new Visitor(site.url);
  const answer = await visitor.signIn(token, { nombre: 'Laptop' });
  expect(answer.headers.get('location')).toBe('/consola/resumen');
  const cookie = answer.headers.getSetCookie().find((line) => line.startsWith(cookieName))!;
  expect(cookie).toMatch(/^padron_consola=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
  const { html, headers } = await visitor.get('/consola/resumen');
  expect(html).toContain('<h1>Comercial de Prueba S.A.C.</h1>');
  expect(html).toContain('Laptop');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('x-robots-tag')).toBe('noindex');
  // The database has only a hash, and the log nothing.
  const value = visitor.cookies.get(cookieName)!;
  const { rows } = await pool.query('SELECT secret_sha256 FROM console_session WHERE account_id = $1', [accountId]);
  expect(JSON.stringify(rows)).not.toContain(value);
  for (const secret of [value, token, visitor.token!]) expect(site.logLines()).not.toContain(secret);
});

test('beyond this machine the cookie is for one host and for TLS only', async () => {
  const { token } = await customer();
  const away = await startSite({ pool, baseUrl: 'https://padron.example.pe' });
  try {
    const visitor = new Visitor(away.url);
    const answer = await visitor.signIn(token);
    expect(answer.status).toBe(303);
    const cookie = answer.headers.getSetCookie().find((line) => line.includes(cookieName))!;
    expect(cookie).toMatch(/^__Host-padron_consola=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
    expect((await visitor.get('/consola/resumen')).status).toBe(200);
    // A cookie of the name without TLS opens nothing here.
    visitor.cookies.set(cookieName, visitor.cookies.get(`__Host-${cookieName}`)!);
    visitor.cookies.delete(`__Host-${cookieName}`);
    expectSignIn(await visitor.get('/consola/resumen'));
  } finally {
    await away.stop();
  }
});

test('behind a proxy on this machine the cookie needs TLS, too', async () => {
  const response = await fetch(`${site.url}/consola`, { headers: { 'x-forwarded-for': '203.0.113.7' } });
  expect(response.headers.getSetCookie().join()).toContain('__Host-padron_visita=');
});

test.each([
  ['unknown', strangerToken, 'El token no es de ninguna cuenta'],
  ['the public one', sandboxToken, 'El token de pruebas público'],
  ['with a blank', 'pad_live_ 12', 'No puede tener espacios'],
  ['missing', '', 'Es obligatorio'],
])('a token that is %s is refused beside its field, and what was typed stays but the token', async (_, token, text) => {
  const visitor = new Visitor(site.url);
  const answer = await visitor.signIn(token, { nombre: 'Mi "laptop" <b>' });
  expect(answer.status).toBe(422);
  expect(answer.html).toMatch(new RegExp(`id="entrar-token-error">${text}`));
  expect(answer.html).toContain('value="Mi &quot;laptop&quot; &lt;b>"');
  if (token !== '') expect(answer.html).not.toContain(token);
  expect(answer.html).toContain('<title>Error: Entrar a la consola');
  expect(visitor.cookies.has(cookieName)).toBe(false);
});

test('a session that somebody planted in the browser is replaced at the sign-in', async () => {
  const { token } = await customer();
  const attacker = await signedIn('Cuenta de otro');
  const planted = attacker.visitor.cookies.get(cookieName)!;
  for (const value of [planted, 'A'.repeat(43)]) {
    const visitor = new Visitor(site.url);
    await visitor.get('/consola');
    visitor.cookies.set(cookieName, value);
    const answer = await visitor.post('/consola', { form: 'entrar', fields: { token } });
    expect(answer.status).toBe(303);
    expect(visitor.cookies.get(cookieName)).not.toBe(value);
  }
  // The planted session ended with the sign-in over it.
  expectSignIn(await attacker.visitor.get('/consola/resumen'));
});

test('a form is refused from another site, without a token, and with the token of another session', async () => {
  const { visitor, accountId } = await signedIn();
  const other = await signedIn();
  const [id] = await sessionIds(accountId);
  const fields = { sesion: id! };
  const attempts: Partial<Parameters<Visitor['post']>[1]>[] = [
    { headers: { 'sec-fetch-site': 'cross-site' } },
    { headers: { 'sec-fetch-site': 'same-site' } },
    { headers: { 'sec-fetch-site': null, origin: 'https://atacante.example' } },
    { headers: { 'sec-fetch-site': null, origin: null } },
    { headers: { 'sec-fetch-site': null, origin: 'null' } },
    { token: null },
    { token: '' },
    { token: other.visitor.token },
    { token: visitor.token!.slice(1) },
    { token: Buffer.alloc(64).toString('base64url') },
    { form: 'otro' },
    { form: '__proto__' },
  ];
  for (const attempt of attempts) {
    const answer = await visitor.post('/consola/resumen', { form: 'terminar', fields, ...attempt });
    expect([attempt, answer.status]).toEqual([attempt, 403]);
    expect(answer.html).toContain('formulario_rechazado');
    expect(answer.headers.get('content-security-policy')).toBe(contentPolicy);
  }
  expect(await sessionIds(accountId)).toHaveLength(1);
  // Nothing of this stops the person's own form, also from an old browser that names no Sec-Fetch-Site.
  const own = await visitor.post('/consola/resumen', {
    form: 'terminar',
    fields,
    headers: { 'sec-fetch-site': null },
  });
  expect(own.headers.get('location')).toBe('/consola?hecho=salida');
  expect(await sessionIds(accountId)).toHaveLength(0);
});

test('the sign-in is refused from another site, so nobody is signed in to a stranger’s account', async () => {
  const { token } = await customer();
  const visitor = new Visitor(site.url);
  await visitor.get('/consola');
  const fields = { token };
  const crossSite = await visitor.post('/consola', {
    form: 'entrar',
    fields,
    headers: { 'sec-fetch-site': 'cross-site' },
  });
  expect(crossSite.status).toBe(403);
  const elsewhere = new Visitor(site.url);
  await elsewhere.get('/consola');
  const stolen = await visitor.post('/consola', { form: 'entrar', fields, token: elsewhere.token });
  expect(stolen.status).toBe(403);
});

test('two tabs of a session both work, and each page masks the token differently', async () => {
  const { visitor, accountId } = await signedIn();
  const first = visitor.token;
  await visitor.get('/consola/resumen');
  expect(visitor.token).not.toBe(first);
  const answer = await visitor.post('/consola/salir', { form: 'salir', token: first });
  expect(answer.headers.get('location')).toBe('/consola?hecho=salida');
  expect(visitor.cookies.has(cookieName)).toBe(false);
  expect(await sessionIds(accountId)).toHaveLength(0);
  expect((await visitor.get('/consola?hecho=salida')).html).toContain('La sesión terminó. Hasta pronto.');
});

test('a session ends with its token, after half an hour without use, and after twelve hours', async () => {
  const ends = [
    ({ tokenId }: { tokenId: string }) => revokeToken(pool, tokenId),
    ({ accountId }: { accountId: number }) =>
      pool.query(
        `UPDATE console_session SET last_used_at = now() - interval '30 minutes 1 second' WHERE account_id = $1`,
        [accountId],
      ),
    ({ accountId }: { accountId: number }) =>
      pool.query(`UPDATE console_session SET ends_at = now() WHERE account_id = $1`, [accountId]),
  ];
  for (const end of ends) {
    const account = await signedIn();
    await end(account);
    const answer = await account.visitor.get('/consola/resumen');
    expectSignIn(answer);
    expect(new URL(answer.headers.get('location')!, site.url).searchParams.get('hecho')).toBe('vencida');
    // The same form that would have worked leads to the sign-in, too.
    expectSignIn(await account.visitor.post('/consola/salir', { form: 'salir' }));
  }
  const before = await pool.query('SELECT count(*)::int AS n FROM console_session WHERE ends_at < now()');
  expect(before.rows[0]).toEqual({ n: 1 });
  await removeExpired(pool);
  const after = await pool.query('SELECT count(*)::int AS n FROM console_session WHERE ends_at < now()');
  expect(after.rows[0]).toEqual({ n: 0 });
});

test('use keeps a session, but not past its twelve hours', async () => {
  const { visitor, accountId } = await signedIn();
  await pool.query(`UPDATE console_session SET last_used_at = now() - interval '29 minutes' WHERE account_id = $1`, [
    accountId,
  ]);
  expect((await visitor.get('/consola/resumen')).status).toBe(200);
  const { rows } = await pool.query(
    `SELECT last_used_at > now() - interval '1 minute' AS used, ends_at - started_at = interval '12 hours' AS bounded
     FROM console_session WHERE account_id = $1`,
    [accountId],
  );
  expect(rows).toEqual([{ used: true, bounded: true }]);
});

test('sessions are listed, and ended from another browser', async () => {
  const { token, accountId, visitor } = await signedIn();
  const phone = new Visitor(site.url);
  await phone.signIn(token, { nombre: 'Celular' });
  const [, second] = await sessionIds(accountId);
  const list = await visitor.get('/consola/resumen');
  expect(list.html).toContain('Celular');
  const answer = await visitor.post('/consola/resumen', { form: 'terminar', fields: { sesion: second! } });
  expect(answer.headers.get('location')).toBe('/consola/resumen?hecho=terminada');
  expect((await visitor.get('/consola/resumen?hecho=terminada')).html).toContain('La sesión se terminó.');
  expectSignIn(await phone.get('/consola/resumen'));
});

test('a session of another account cannot be ended, and what is no id is refused beside the form', async () => {
  const { visitor } = await signedIn();
  const other = await signedIn();
  const [id] = await sessionIds(other.accountId);
  const answer = await visitor.post('/consola/resumen', { form: 'terminar', fields: { sesion: id! } });
  expect([answer.status, answer.html.includes('La sesión no existe.')]).toEqual([404, true]);
  expect(await sessionIds(other.accountId)).toEqual([id]);
  const wrong = await visitor.post('/consola/resumen', { form: 'terminar', fields: { sesion: "' OR 1=1" } });
  expect(wrong.status).toBe(422);
  const extra = await visitor.post('/consola/resumen', { form: 'terminar', fields: { sesion: id!, plan: 'empresa' } });
  expect(extra.status).toBe(422);
});

test('HTML in what a customer wrote is shown as text', async () => {
  const evil = '<script>alert(1)</script><img src=x onerror=alert(2)>"\'&';
  const { token } = await customer(evil);
  const visitor = new Visitor(site.url);
  await visitor.get('/consola');
  await visitor.post('/consola', {
    form: 'entrar',
    fields: { token, nombre: '"><script>alert(3)</script>' },
    headers: { 'user-agent': '<script>alert(4)</script>' },
  });
  const { html } = await visitor.get('/consola/resumen');
  expect(html).toContain('&lt;script>alert(1)');
  expect(html).not.toMatch(/<script>|<img/);
});

test.each([
  ['https://atacante.example/consola/x', '/consola/resumen'],
  ['//atacante.example', '/consola/resumen'],
  ['/consola/../docs', '/consola/resumen'],
  ['/consola/\\atacante.example', '/consola/resumen'],
  ['/consola/resumen?hecho=terminada', '/consola/resumen?hecho=terminada'],
])('after the sign-in with volver=%s one is at %s', async (back, place) => {
  const { token } = await customer();
  const visitor = new Visitor(site.url);
  await visitor.get('/consola');
  const answer = await visitor.post(`/consola?volver=${encodeURIComponent(back)}`, {
    form: 'entrar',
    fields: { token },
  });
  expect(answer.headers.get('location')).toBe(place);
});

test('without PostgreSQL the console says that it is away, and public pages stay', async () => {
  const alone = await startSite();
  try {
    const visitor = new Visitor(alone.url);
    visitor.cookies.set(cookieName, 'B'.repeat(43));
    const answer = await visitor.get('/consola/resumen');
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(answer.html).toContain('El servicio no está disponible en este momento');
    expect((await visitor.get('/')).status).toBe(200);
  } finally {
    await alone.stop();
  }
});
