import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAccount } from '../../api/accounts/accounts.ts';
import { createToken, revokeToken } from '../../api/accounts/tokens.ts';
import { makeConsolePages } from '../../api/pages/console/pages.ts';
import { createLink } from '../../api/pages/sessions/links.ts';
import { inTransaction } from '../../pipelines/runtime/postgres.ts';
import { writeEvents } from '../../pipelines/watch/events.ts';
import { eventId } from '../../pipelines/watch/match.ts';
import { raiseWork } from '../../pipelines/webhooks/work.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { startLoadedApi } from '../support/api/loaded-api.ts';
import { makeCaller, requestsOf, type TestCaller } from '../support/api/process.ts';
import type { Surroundings } from '../support/api/surroundings.ts';
import { monthlyCells } from '../support/api/taxpayer-records.ts';
import { at, publicUrl, work } from '../support/api/webhook-scene.ts';
import { Visitor } from '../support/pages/visitor.ts';
import { changeOf, materialize, rucOf } from '../support/registers/companies.ts';
import { insertTaxpayers, untilCatalogueIsRead } from '../support/registers/served-register.ts';

// The console under attack, over HTTP: forms of other sites, streams that outlive their right, and HTML in every text that
// a register or a customer wrote.

let around: Surroundings;
let url: string;
beforeAll(async () => {
  ({ around } = await startLoadedApi());
  url = around.api.url;
});
afterAll(() => around?.stop());

async function signedIn({ token }: Pick<TestCaller, 'token'>, fields: Record<string, string> = {}): Promise<Visitor> {
  const visitor = new Visitor(url);
  await visitor.signIn(token, fields);
  return visitor;
}

const parameters: Readonly<Record<string, string>> = { ruc: '20990000019', lista: '1' };
const forms = makeConsolePages({} as never).flatMap(({ path, page }) =>
  Object.keys(page.forms ?? {}).map((form) => ({
    form,
    path: path.replace(/\{(\w+)\}/g, (_, name: string) => parameters[name] ?? 'x'),
  })),
);

test('every form of the console is refused from another site, and with the token of another session', async () => {
  const [visitor, stranger] = await Promise.all([
    signedIn(await makeCaller(around.pool, url)),
    signedIn(await makeCaller(around.pool, url)),
  ]);
  expect(forms.length).toBeGreaterThan(20);
  const attempts: Partial<Parameters<Visitor['post']>[1]>[] = [
    { headers: { 'sec-fetch-site': 'cross-site' } },
    { headers: { 'sec-fetch-site': null, origin: 'https://atacante.example' } },
    { token: null },
    { token: stranger.token },
  ];
  for (const { path, form } of forms)
    for (const attempt of attempts) {
      const { status, html } = await visitor.post(path, { form, ...attempt });
      const shown = [path, form, attempt, status, html.includes('formulario_rechazado')];
      expect(shown).toEqual([path, form, attempt, 403, true]);
    }
  expect((await visitor.get('/consola/resumen')).status).toBe(200);
});

const stream = '/consola/eventos/en-vivo';

interface Followed {
  status: number;
  text(): string;
  isOver(): boolean;
  close(): void;
}

/** Opens a stream with a visitor's cookies, and reads it. */
async function follow(visitor: Visitor, path = stream): Promise<Followed> {
  const closing = new AbortController();
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const response = await fetch(`${url}${path}`, { headers: { cookie }, redirect: 'manual', signal: closing.signal });
  let text = '';
  let isOver = false;
  void (async () => {
    for await (const bytes of response.body!) text += Buffer.from(bytes).toString();
  })()
    .catch(() => undefined)
    .finally(() => {
      isOver = true;
    });
  return { status: response.status, text: () => text, isOver: () => isOver, close: () => closing.abort() };
}

const apiStreams = ({ accountId }: TestCaller, byToken: boolean) =>
  around.pool
    .query<{ n: number }>(
      'SELECT count(*)::int AS n FROM event_stream WHERE account_id = $1 AND (session_id IS NULL) = $2',
      [accountId, byToken],
    )
    .then(({ rows }) => rows[0]!.n);

test('the live view has the account’s own events, and takes no seat from programs', async () => {
  const [owner, other] = [await makeCaller(around.pool, url), await makeCaller(around.pool, url)];
  const [mine, theirs] = [await follow(await signedIn(owner)), await follow(await signedIn(other))];
  expect([mine.status, theirs.status]).toEqual([200, 200]);
  await expect.poll(() => mine.text()).toContain(': conectado');
  expect([await apiStreams(owner, true), await apiStreams(owner, false)]).toEqual([0, 1]);
  const list = await makeList(owner, { nombre: 'Una' });
  await writeEvent(owner, { list, nombre: 'Una', ruc: '20990000019', antes: 'A', despues: 'B' });
  await expect.poll(() => mine.text()).toContain('"ruc":"20990000019"');
  expect(theirs.text()).not.toContain('20990000019');
  mine.close();
  theirs.close();
  await expect.poll(() => apiStreams(owner, false)).toBe(0);
});

test('the live view ends with its session, its token, its plan, and is not for strangers', async () => {
  const ends: ((by: TestCaller) => Promise<unknown>)[] = [
    ({ accountId }) => around.pool.query('DELETE FROM console_session WHERE account_id = $1', [accountId]),
    ({ token }) => revokeToken(around.pool, token.split('_')[2]!),
    ({ accountId }) =>
      around.pool.query(
        "UPDATE console_session SET last_used_at = now() - interval '31 minutes' WHERE account_id = $1",
        [accountId],
      ),
    ({ accountId }) => around.pool.query("UPDATE account SET plan = 'free' WHERE id = $1", [accountId]),
  ];
  for (const end of ends) {
    const by = await makeCaller(around.pool, url);
    const followed = await follow(await signedIn(by));
    await expect.poll(() => followed.text()).toContain(': conectado');
    await end(by);
    await expect.poll(() => followed.isOver()).toBe(true);
  }
  expect((await follow(new Visitor(url))).status).toBe(303);
  const small = await follow(await signedIn(await makeCaller(around.pool, url, { plan: 'micro' })));
  expect(small.status).toBe(403);
});

test('a session of an operator’s link, which has no token, can look at the live view', async () => {
  const by = await makeCaller(around.pool, url);
  const link = (await createLink(around.pool, {
    accountId: by.accountId,
    tokenId: null,
    capabilities: [],
    name: null,
    hours: 1,
  }))!;
  const visitor = new Visitor(url);
  await visitor.get(link.path);
  const clave = new URL(link.path, url).searchParams.get('clave')!;
  expect((await visitor.post(link.path, { form: 'abrir', fields: { clave } })).status).toBe(303);
  const followed = await follow(visitor);
  await expect.poll(() => followed.text()).toContain(': conectado');
  expect(followed.isOver()).toBe(false);
  followed.close();
});

test('a scanner of mails uses no link up, whatever it asks for', async () => {
  const { accountId } = await makeCaller(around.pool, url);
  const link = (await createLink(around.pool, { accountId, tokenId: null, capabilities: [], name: null, hours: 1 }))!;
  const clave = new URL(link.path, url).searchParams.get('clave')!;
  const body = new URLSearchParams({ formulario: 'abrir', clave });
  const headers = { accept: 'text/html' };
  for (const options of [{}, { method: 'HEAD' }, { method: 'OPTIONS' }, { method: 'POST', body }])
    await fetch(`${url}${link.path}`, { redirect: 'manual', headers, ...options });
  const visitor = new Visitor(url);
  await visitor.get(link.path);
  expect((await visitor.post(link.path, { form: 'abrir', fields: { clave } })).status).toBe(303);
  // Whoever took it from the mail comes too late.
  const thief = new Visitor(url);
  expect((await thief.get(link.path)).status).toBe(404);
  expect((await thief.post(link.path, { form: 'abrir', fields: { clave } })).status).toBe(403);
  await thief.get('/consola');
  expect((await thief.post(link.path, { form: 'abrir', fields: { clave } })).status).not.toBe(303);
});

/** As long as the shortest field admits. */
const evil = '<img src=x onerror=y>"\'&';
const evilRuc = rucOf(666_000);

async function makeList(by: TestCaller, json: Record<string, string>): Promise<number> {
  const made = await by.request('/id/v1/watch/listas', { method: 'POST', json });
  expect(made.status).toBe(201);
  return (await made.json()).data.id;
}

interface WrittenEvent {
  list: number;
  nombre: string;
  ruc: string;
  antes: string;
  despues: string;
}

async function writeEvent(by: TestCaller, { list, nombre, ruc, antes, despues }: WrittenEvent): Promise<void> {
  const day = limaDay(at);
  await inTransaction(around.pool, async (client) => {
    await client.query('SELECT ensure_event_day($1)', [day]);
    const event = {
      id: eventId('padron_reducido', 2, ruc, 'nombre', list),
      accountId: by.accountId,
      register: 'padron_reducido',
      edition: 2,
      ruc,
      field: { evento: 'ruc.nombre_cambiado', campo: 'nombre', antes, despues },
      list: { id: list, nombre, referencia: null },
      fechaDato: '2026-11-26',
      ocurridoEn: at,
    } as const;
    const { webhookIds } = await writeEvents(client, day, at, [event], null);
    await raiseWork(client, webhookIds, day);
  });
}

async function loadEvilCompany(): Promise<void> {
  const before = { ruc: evilRuc, nombre: `${evil} ANTES S.A.C.` };
  const after = { ruc: evilRuc, nombre: `ZZZ ${evil} S.A.C.`, estado: evil, condicion: evil };
  await materialize(around.clickhouse, [changeOf(1, null, before), changeOf(2, before, after)]);
  const monthly = monthlyCells({ tipo: evil, nro_trabajadores: '1', tipo_facturacion: evil });
  const bar = {
    nombre: evil,
    desde: '2026-01-10',
    hasta: null,
    resolucion: evil,
    motivos: [evil],
    motivo: evil,
  };
  await insertTaxpayers(around.clickhouse, [
    { line: `${evilRuc}|${evil}|2023-10-01|${evil}|`, register: 'agentes_retencion' },
    { line: `${evilRuc}|${monthly.join('|')}|`, register: 'padron_mensual' },
    { line: `${evilRuc}|ruc|${JSON.stringify([bar])}|`, register: 'sancionados' },
    { line: `${evilRuc}|ruc|${JSON.stringify([{ ...bar, organo: evil }])}|`, register: 'inhabilitaciones_judiciales' },
  ]);
  await untilCatalogueIsRead();
}

test('HTML in what registers, customers and their servers wrote is shown as text on every page', async () => {
  await loadEvilCompany();
  const contract = { reference: evil, from: '2026-01-01', until: null };
  const accountId = await createAccount(around.pool, { name: evil, plan: 'empresa', email: null, contract });
  const { token } = (await createToken(around.pool, accountId))!;
  const by: TestCaller = { accountId, token, request: requestsOf(url, token) };
  const list = await makeList(by, { nombre: evil, referencia: evil });
  await by.request(`/id/v1/watch/listas/${list}/rucs`, { method: 'POST', json: { rucs: [evilRuc] } });
  const made = await by.request('/id/v1/watch/webhooks', {
    method: 'POST',
    json: { url: `${publicUrl}?x=%3C'&y`, descripcion: evil },
  });
  const webhook = (await made.json()).data.id;
  await around.pool.query("UPDATE webhook SET created_at = '2026-01-01' WHERE id = $1", [webhook]);
  await writeEvent(by, { list, nombre: evil, ruc: evilRuc, antes: evil, despues: `${evil}2` });
  const [delivery] = await work(around, webhook, { success: false, response: evil });
  const visitor = await signedIn(by, { nombre: evil });
  await visitor.get('/consola/tokens');
  expect((await visitor.post('/consola/tokens', { form: 'crear', fields: { nombre: evil } })).status).toBe(200);
  const link = await visitor.post('/consola/tokens', { form: 'enlazar', fields: { para: evil, horas: '1' } });
  const address = /[^<>\s"]*\/consola\/enlace\?clave=[\w-]+/.exec(link.html)![0];
  await visitor.get(`/consola/empresas/${evilRuc}/proveedor`);
  const check = await visitor.post(`/consola/empresas/${evilRuc}/proveedor`, { form: 'evaluar' });
  const evidence = check.headers.get('location')!;

  const paths: string[] = [
    '/consola/resumen',
    '/consola/empresas?q=zzz',
    '/consola/empresas/sugerencias?q=zzz',
    `/consola/empresas/${evilRuc}`,
    `/consola/empresas/${evilRuc}/historial`,
    evidence,
    '/consola/eventos',
    '/consola/listas',
    `/consola/listas/${list}`,
    '/consola/webhooks',
    '/consola/webhooks/nuevo',
    `/consola/webhooks/${webhook}`,
    `/consola/webhooks/${webhook}/cambiar`,
    `/consola/entregas/${delivery!.id}`,
    '/consola/tokens',
    new URL(address, url).pathname + new URL(address, url).search,
  ];
  for (const path of paths) {
    const { status, html } = await visitor.get(path);
    expect([path, status]).toEqual([path, 200]);
    // Neither as a tag, nor as the end of an attribute.
    expect([path, /<img|onerror=y>["']/i.test(html)]).toEqual([path, false]);
    // The text is there, so a page that left it out would not pass.
    expect([path, html.includes('&lt;img src=x onerror=y>')]).toEqual([path, true]);
  }
  const typed = await visitor.get(`/consola/empresas?q=${encodeURIComponent(`${evil}${evil}`)}&cursor=x`);
  expect(typed.html).not.toMatch(/<img/);
  const pasted = await visitor.post(`/consola/listas/${list}`, { form: 'agregar', fields: { rucs: evil } });
  expect(pasted.html).not.toMatch(/<img/);
  const headers = { cabeceras: `${evil}: ${evil}`, cuerpo: evil, secreto: evil };
  const doctor = await visitor.post('/consola/firmas', { form: 'revisar', fields: headers });
  expect(doctor.html).not.toMatch(/<img/);
});

test('two tabs: what one changed or deleted, the other cannot act on as it was', async () => {
  const by = await makeCaller(around.pool, url);
  const list = await makeList(by, { nombre: 'Una' });
  const made = await by.request('/id/v1/watch/webhooks', { method: 'POST', json: { url: publicUrl, listas: [list] } });
  const path = `/consola/webhooks/${(await made.json()).data.id}`;
  const tab = await signedIn(by);
  await tab.get(`${path}/cambiar`);
  const fields = { url: publicUrl, listas: String(list), limite_por_segundo: '5', en_vuelo: '2' };
  expect((await tab.post(`${path}/cambiar`, { form: 'cambiar', fields })).status).toBe(303);
  await by.request(`/id/v1/watch/listas/${list}`, { method: 'DELETE' });
  // The other tab still shows the list, which is gone.
  expect((await tab.post(`${path}/cambiar`, { form: 'cambiar', fields })).status).toBe(404);
  // Nothing marked could mean none or all, so it is refused.
  const none = await tab.post(`${path}/cambiar`, { form: 'cambiar', fields: { url: publicUrl } });
  expect([none.status, none.html.includes('Marque al menos una, o «Todas».')]).toEqual([422, true]);
  for (const attempt of [1, 2]) {
    const answer = await tab.post(path, { form: 'borrar' });
    expect([attempt, answer.status]).toEqual([attempt, attempt === 1 ? 303 : 404]);
  }
});
