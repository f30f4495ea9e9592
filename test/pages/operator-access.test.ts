import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { removeExpired } from '../../api/expired.ts';
import { listActs } from '../../api/operators/audit.ts';
import { revokeOperator } from '../../api/operators/operators.ts';
import { contentPolicy } from '../../api/pages/answers.ts';
import { makeOperatorPages } from '../../api/pages/operator/table.ts';
import { ensureHead } from '../../pipelines/editions/heads.ts';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { registerNames } from '../../schemas/registers.ts';
import { type FreshDatabase, migratedDatabase } from '../support/engines/isolation.ts';
import { linkFor, type OperatorSite, operatorVisitor, startOperatorSite } from '../support/pages/operators.ts';
import { startSite } from '../support/pages/site.ts';
import { type Shown, Visitor } from '../support/pages/visitor.ts';

// Who gets into the operators' console, attacked over HTTP without a browser.

let database: FreshDatabase;
let pool: Pool;
let site: OperatorSite;
beforeAll(async () => {
  database = await migratedDatabase(inject('endpoints'));
  pool = makePool(database.DATABASE_URL, 'test', 4);
  for (const register of registerNames) await ensureHead(pool, register);
  site = await startOperatorSite({ pool });
});
afterAll(async () => {
  await site?.stop();
  await pool?.end();
  await database?.drop();
});

const cookieName = 'padron_operador';

function expectSignIn({ status, headers }: Shown): void {
  expect(status).toBe(303);
  expect(headers.get('location')).toMatch(/^\/\?/);
}

test('a link opens one session, whose cookie scripts and other sites cannot read', async () => {
  const link = await linkFor(pool, 'Ana Ruiz', 'decider');
  const visitor = new Visitor(site.url);
  const shown = await visitor.get(link);
  expect(shown.html).toContain('Entrar como Ana Ruiz');
  expect(shown.headers.get('content-security-policy')).toBe(contentPolicy);
  expect(shown.headers.get('cache-control')).toBe('no-store');
  const answer = await visitor.post(link, { form: 'entrar' });
  expect(answer.headers.get('location')).toBe('/registros');
  const cookie = answer.headers.getSetCookie().find((line) => line.startsWith(`${cookieName}=`))!;
  expect(cookie).toMatch(/^padron_operador=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
  const page = await visitor.get('/registros');
  expect(page.html).toContain('<h1>Registros</h1>');
  expect(page.headers.get('x-robots-tag')).toBe('noindex');
  // The database has only hashes, and the log nothing.
  const value = visitor.cookies.get(cookieName)!;
  const { rows } = await pool.query('SELECT * FROM operator_session');
  expect(JSON.stringify(rows)).not.toContain(value);
  for (const secret of [value, link.split('/').at(-1)!]) expect(site.logLines()).not.toContain(secret);
});

test('opening the link as often as scanners do does not use it up, and a used link opens nothing', async () => {
  const link = await linkFor(pool, 'Beto Paz', 'viewer');
  const scanner = new Visitor(site.url);
  for (let look = 0; look < 3; look += 1) expect((await scanner.get(link)).status).toBe(200);
  expect((await fetch(`${site.url}${link}`, { method: 'HEAD' })).status).toBe(200);
  const visitor = new Visitor(site.url);
  await visitor.get(link);
  expect((await visitor.post(link, { form: 'entrar' })).status).toBe(303);
  // The scanner's page was opened before, and its form is sent after.
  const late = await scanner.post(link, { form: 'entrar' });
  expect([late.status, late.html.includes('El enlace no sirve')]).toEqual([410, true]);
  expect((await scanner.get(link)).status).toBe(410);
  expect(scanner.cookies.has(cookieName)).toBe(false);
});

test('two who use one link at once do not both get in', async () => {
  const link = await linkFor(pool, 'Caro Díaz', 'viewer');
  const visitors = [new Visitor(site.url), new Visitor(site.url)];
  for (const visitor of visitors) await visitor.get(link);
  const answers = await Promise.all(visitors.map((visitor) => visitor.post(link, { form: 'entrar' })));
  expect(answers.map(({ status }) => status).sort()).toEqual([303, 410]);
});

test('an expired, a cut and an invented link open nothing', async () => {
  const link = await linkFor(pool, 'Dora Gil', 'viewer');
  await pool.query(`UPDATE operator_link SET expires_at = now() WHERE used_at IS NULL`);
  const visitor = new Visitor(site.url);
  for (const path of [link, link.slice(0, -1), `/enlace/${'A'.repeat(43)}`, "/enlace/'%20OR%201=1"]) {
    expect([path, (await visitor.get(path)).status]).toEqual([path, 410]);
  }
  await removeExpired(pool);
  const { rows } = await pool.query('SELECT count(*)::int AS n FROM operator_link WHERE expires_at <= now()');
  expect(rows).toEqual([{ n: 0 }]);
});

test('a cookie planted before the sign-in never becomes a session', async () => {
  const link = await linkFor(pool, 'Ana Ruiz', 'decider');
  const visitor = new Visitor(site.url);
  visitor.cookies.set(cookieName, 'C'.repeat(43));
  await visitor.get(link);
  await visitor.post(link, { form: 'entrar' });
  expect(visitor.cookies.get(cookieName)).not.toBe('C'.repeat(43));
  const thief = new Visitor(site.url);
  thief.cookies.set(cookieName, 'C'.repeat(43));
  expectSignIn(await thief.get('/registros'));
});

test('without a session every page leads to the sign-in, and no customer session is one', async () => {
  const rows = makeOperatorPages({ pool, provider: null } as Parameters<typeof makeOperatorPages>[0]);
  const customer = new Visitor(site.url);
  const operator = await operatorVisitor(pool, site.url);
  customer.cookies.set('padron_consola', operator.cookies.get(cookieName)!);
  for (const { path } of rows.filter(({ access }) => access === 'session')) {
    expectSignIn(await customer.get(path.replace(/\{\w+\}/g, 'x')));
  }
});

test('a viewer sees everything and may send no form that acts, whatever is sent', async () => {
  const viewer = await operatorVisitor(pool, site.url, 'viewer', 'Beto Paz');
  const rows = makeOperatorPages({ pool, provider: null, site: { baseUrl: '', proxyHops: 0 } } as Parameters<
    typeof makeOperatorPages
  >[0]);
  const acting = rows.filter(({ access, path }) => access === 'session' && path !== '/salir');
  const forms = acting.flatMap(({ path, page }) =>
    Object.entries(page.forms ?? {}).map((form) => [path, form] as const),
  );
  expect(forms.length).toBeGreaterThanOrEqual(15);
  for (const [path, [name, { fields }]] of forms) {
    const at = path.replace('{registro}', 'padron_reducido').replace(/\{\w+\}/g, '1');
    // The check comes after the fields, which every kind of form is given by their names.
    const typed = Object.fromEntries(Object.keys(fields.shape).map((field) => [field, sample(field)]));
    const answer = await viewer.post(at, { form: name, fields: typed });
    expect([path, name, answer.status]).toEqual([path, name, 403]);
    expect(answer.html).toContain('role viewer');
  }
  const { html } = await viewer.get('/registros/padron_reducido');
  expect(html).not.toContain('Poner en pausa');
});

/** A value that the field of this name accepts. */
function sample(field: string): string {
  const day = '2026-11-27';
  const samples: Record<string, string> = {
    ...{ fecha: day, desde: day, hasta: day, ultimo: day, unidades: '5', contrato: '1', correo: 'a@example.pe' },
  };
  return samples[field] ?? 'prueba';
}

test('a form from another site, without the token or with that of another session does nothing', async () => {
  const visitor = await operatorVisitor(pool, site.url);
  const other = await operatorVisitor(pool, site.url, 'decider', 'Eva Sol');
  const path = '/registros/padron_mensual';
  const fields = { motivo: 'ataque' };
  const wrong: { headers?: Record<string, string | null>; token?: string | null }[] = [
    { headers: { 'sec-fetch-site': 'cross-site' } },
    { headers: { 'sec-fetch-site': 'same-site' } },
    { headers: { 'sec-fetch-site': null, origin: 'https://atacante.example' } },
    { token: null },
    { token: other.token },
  ];
  for (const more of wrong) {
    const answer = await visitor.post(path, { form: 'pausar', fields, ...more });
    expect(answer.status).toBe(403);
  }
  const { rows } = await pool.query(`SELECT paused_at FROM register_head WHERE register = 'padron_mensual'`);
  expect(rows).toEqual([{ paused_at: null }]);
});

test('a session ends when access is taken, after half an hour without use, and after twelve hours', async () => {
  const ends = [
    (name: string) => revokeOperator(pool, { name: 'Ana Ruiz', way: 'command' }, name, 'prueba'),
    () => pool.query(`UPDATE operator_session SET last_used_at = now() - interval '30 minutes 1 second'`),
    () => pool.query('UPDATE operator_session SET ends_at = now()'),
  ];
  for (const [index, end] of ends.entries()) {
    const name = `Operador ${index}`;
    const visitor = await operatorVisitor(pool, site.url, 'viewer', name);
    const unused = await linkFor(pool, name, 'viewer');
    await end(name);
    expectSignIn(await visitor.get('/registros'));
    if (index === 0) expect((await visitor.get(unused)).status).toBe(410);
  }
});

test('signing out ends the session, and the public site has none of these pages', async () => {
  const visitor = await operatorVisitor(pool, site.url);
  const cookie = visitor.cookies.get(cookieName)!;
  expect((await visitor.get('/')).headers.get('location')).toBe('/registros');
  const answer = await visitor.post('/salir', { form: 'salir' });
  expect(answer.headers.get('location')).toBe('/?hecho=salida');
  visitor.cookies.set(cookieName, cookie);
  expectSignIn(await visitor.get('/registros'));
  const open = await startSite({ pool });
  try {
    for (const path of ['/registros', '/auditoria', '/enlace/x', '/operadores'])
      expect((await new Visitor(open.url).get(path)).status).toBe(404);
  } finally {
    await open.stop();
  }
});

test('an act is recorded with who, what, why, before and after, and the record cannot be changed', async () => {
  const visitor = await operatorVisitor(pool, site.url);
  const path = '/registros/sancionados';
  const evil = '<script>alert(1)</script> nombres "raros"';
  const paused = await visitor.post(path, { form: 'pausar', fields: { motivo: evil } });
  expect(paused.headers.get('location')).toBe(`${path}?hecho=pausado`);
  const shown = await visitor.get(path);
  expect(shown.html).toContain('&lt;script>alert(1)');
  await visitor.post(path, { form: 'reanudar' });
  expect(site.woken.at(-1)).toBe('sancionados');
  const [resumed, pausing] = await listActs(pool, { subject: 'register sancionados', before: null }, 10);
  expect(resumed).toMatchObject({ who: 'Ana Ruiz', way: 'console', act: 'publications resume' });
  expect(resumed!.before).toMatchObject({ paused_by: 'Ana Ruiz', paused_reason: evil });
  expect(pausing).toMatchObject({ act: 'publications pause', reason: evil, before: { paused_at: null } });
  const { html } = await visitor.get('/auditoria?sobre=register+sancionados');
  expect(html).toContain('publications pause');
  expect(html).not.toContain('<script>alert');
  for (const change of ['UPDATE operator_act SET who = $1', 'DELETE FROM operator_act WHERE who <> $1'])
    await expect(pool.query(change, ['nadie'])).rejects.toThrow(/never changed/);
});
