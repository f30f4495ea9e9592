import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { listActs } from '../../api/operators/audit.ts';
import { IdentityProvider } from '../../api/operators/identity-provider.ts';
import { makeLink, revokeOperator } from '../../api/operators/operators.ts';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { type FreshDatabase, migratedDatabase } from '../support/engines/isolation.ts';
import { startProvider, type TestProvider } from '../support/pages/identity-provider.ts';
import { type OperatorSite, startOperatorSite } from '../support/pages/operators.ts';
import { type Shown, Visitor } from '../support/pages/visitor.ts';

// Signing in through an identity provider, against a real one.

let database: FreshDatabase;
let pool: Pool;
let provider: TestProvider;
let site: OperatorSite;
beforeAll(async () => {
  database = await migratedDatabase(inject('endpoints'));
  pool = makePool(database.DATABASE_URL, 'test', 4);
  ({ provider, site } = await startBoth('userinfo'));
});
afterAll(async () => {
  await site?.stop();
  await provider?.stop();
  await pool?.end();
  await database?.drop();
});

async function startBoth(where: 'id_token' | 'userinfo') {
  const started = await startProvider(where);
  const served = await startOperatorSite({ pool, provider: new IdentityProvider(started.settings) });
  started.open(served.url);
  return { provider: started, site: served };
}

const cookieName = 'padron_operador';

async function begin(visitor: Visitor): Promise<URL> {
  const { status, headers } = await visitor.get('/proveedor');
  expect(status).toBe(303);
  return new URL(headers.get('location')!);
}

/** Signs in at the provider and comes back. `change` may alter the address that leads there. */
async function signIn(visitor: Visitor, login: string, change = (address: URL) => address): Promise<Shown> {
  return await visitor.get(await provider.signIn(change(await begin(visitor)), login));
}

function expectRefused(visitor: Visitor, shown: Shown, status: number, text: string): void {
  expect([shown.status, shown.html.includes(text)]).toEqual([status, true]);
  expect(visitor.cookies.has(cookieName)).toBe(false);
}

function withParameter(name: string, value: string) {
  return (address: URL) => {
    address.searchParams.set(name, value);
    return address;
  };
}

const other = 'A'.repeat(43);
const mismatch = 'no corresponde a una entrada';

test.for(['id_token', 'userinfo'] as const)('a group in the %s gives the role', async (where) => {
  const both = await startBoth(where);
  onTestFinished(async () => {
    await both.site.stop();
    await both.provider.stop();
  });
  const login = `ana.${where}`;
  both.provider.groups.set(login, ['ventas', 'padron-deciden']);
  const visitor = new Visitor(both.site.url);
  expect((await visitor.get('/')).html).toContain('href="/proveedor"');
  const address = await begin(visitor);
  const asked = Object.fromEntries(address.searchParams);
  expect(asked).toMatchObject({ response_type: 'code', code_challenge_method: 'S256', prompt: 'login' });
  const back = await both.provider.signIn(address, login);
  const answer = await visitor.get(back, { 'user-agent': 'Chrome' });
  expect(answer.headers.get('location')).toBe('/registros');
  expect(answer.headers.getSetCookie().join()).toMatch(/padron_operador=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax/);
  expect((await visitor.get('/operadores')).html).toContain(`${login}@example.pe`);
  const [act] = await listActs(pool, { subject: `operator ${login}@example.pe`, before: null }, 1);
  expect(act).toMatchObject({ act: 'sign in', before: null, after: { role: 'decider', browser: 'Chrome' } });
  // The address with the code is worth nothing any more, here and in another browser.
  for (const late of [visitor, new Visitor(both.site.url)]) expect((await late.get(back)).status).toBe(400);
  const secrets = new URLSearchParams(back.split('?')[1]);
  for (const text of [secrets.get('code')!, visitor.cookies.get(cookieName)!])
    expect(both.site.logLines()).not.toContain(text);
});

test('the role follows the groups at each sign-in', async () => {
  const roleAfter = async (groups: string[]) => {
    provider.groups.set('beto', groups);
    const visitor = new Visitor(site.url);
    await signIn(visitor, 'beto');
    const { rows } = await pool.query(`SELECT role FROM operator WHERE name = 'beto@example.pe'`);
    return [rows[0]?.role, visitor.cookies.has(cookieName)];
  };
  expect(await roleAfter(['padron-miran'])).toEqual(['viewer', true]);
  expect(await roleAfter(['padron-miran', 'padron-deciden'])).toEqual(['decider', true]);
  expect(await roleAfter(['padron-miran'])).toEqual(['viewer', true]);
  expect(await roleAfter([])).toEqual(['viewer', false]);
  const [last] = await listActs(pool, { subject: 'operator beto@example.pe', before: null }, 1);
  expect(last).toMatchObject({ before: { role: 'decider' }, after: { role: 'viewer' } });
});

test('who is in no group learns in which', async () => {
  provider.groups.set('carla', ['ventas']);
  const visitor = new Visitor(site.url);
  expectRefused(visitor, await signIn(visitor, 'carla'), 403, 'no está en el grupo padron-deciden ni padron-miran');
  const { rowCount } = await pool.query(`SELECT FROM operator WHERE name LIKE 'carla%'`);
  expect(rowCount).toBe(0);
});

test('an answer to another request is refused: wrong state, nonce, verifier or browser', async () => {
  provider.groups.set('dora', ['padron-deciden']);
  for (const name of ['state', 'nonce', 'code_challenge']) {
    const visitor = new Visitor(site.url);
    expectRefused(visitor, await signIn(visitor, 'dora', withParameter(name, other)), 400, mismatch);
  }
  // Somebody sends a victim the address of an own sign-in.
  const attacker = new Visitor(site.url);
  const back = await provider.signIn(await begin(attacker), 'dora');
  const victim = new Visitor(site.url);
  await begin(victim);
  expectRefused(victim, await victim.get(back), 400, mismatch);
  const planted = new Visitor(site.url);
  planted.cookies.set('padron_operador_entrada', other);
  expectRefused(planted, await planted.get(back), 400, mismatch);
  const invented = new Visitor(site.url);
  const address = await begin(invented);
  const state = address.searchParams.get('state')!;
  const path = `/proveedor/vuelta?code=${other}&state=${state}&iss=${encodeURIComponent(provider.settings.issuer)}`;
  expectRefused(invented, await invented.get(path), 400, mismatch);
});

test('who cancels at the provider is not let in', async () => {
  const visitor = new Visitor(site.url);
  const address = await begin(visitor);
  const state = address.searchParams.get('state')!;
  const issuer = encodeURIComponent(provider.settings.issuer);
  const path = `/proveedor/vuelta?error=access_denied&state=${state}&iss=${issuer}`;
  expectRefused(visitor, await visitor.get(path), 403, 'usted canceló');
});

test('a revoked operator stays out until a link gives the access back, and nobody takes over a name', async () => {
  const actor = { name: 'prueba', way: 'command' } as const;
  provider.groups.set('eva', ['padron-deciden']);
  const visitor = new Visitor(site.url);
  await signIn(visitor, 'eva');
  await revokeOperator(pool, actor, 'eva@example.pe', 'prueba');
  expect((await visitor.get('/registros')).status).toBe(303);
  const again = new Visitor(site.url);
  expectRefused(again, await signIn(again, 'eva'), 403, 'le quitó el acceso');
  await makeLink(pool, actor, { name: 'eva@example.pe', role: null, minutes: 15 });
  expect((await signIn(again, 'eva')).headers.get('location')).toBe('/registros');

  await makeLink(pool, actor, { name: 'fito@example.pe', role: 'decider', minutes: 15 });
  provider.groups.set('fito', ['padron-miran']);
  const double = new Visitor(site.url);
  expectRefused(double, await signIn(double, 'fito'), 403, 'ya tiene su nombre');
});

test('while the provider is away the page says so, and links still open sessions', async () => {
  const gone = await startProvider('userinfo');
  const lame = await startOperatorSite({ pool, provider: new IdentityProvider(gone.settings) });
  onTestFinished(() => lame.stop());
  const visitor = new Visitor(lame.url);
  // It answers with errors at first, then not at all, and is asked anew each time.
  expectRefused(visitor, await visitor.get('/proveedor'), 503, 'no responde');
  gone.open(lame.url);
  const address = await begin(visitor);
  const back = await gone.signIn(address, 'gina');
  await gone.stop();
  expectRefused(visitor, await visitor.get(back), 503, 'no responde');
  const fresh = await startOperatorSite({ pool, provider: new IdentityProvider(gone.settings) });
  onTestFinished(() => fresh.stop());
  expectRefused(visitor, await new Visitor(fresh.url).get('/proveedor'), 503, 'no responde');
  expect((await new Visitor(fresh.url).get('/')).html).toContain('padron operators link');
});
