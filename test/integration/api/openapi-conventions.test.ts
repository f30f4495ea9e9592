import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Access, type Operation, type OperationName, operations } from '../../../api/operations.ts';
import { createdRecoveryAnswer, testAnswer } from '../../../schemas/http/deliveries.ts';
import { createdWebhookAnswer } from '../../../schemas/http/webhooks.ts';
import { type ExampleRequest, exampleRequests, targetOf } from '../../support/api/examples.ts';
import { company, publicUrl, startLoadedApi } from '../../support/api/loaded-api.ts';
import { expectProblem, makeCaller, requestsOf, type TestCaller } from '../../support/api/process.ts';
import type { Surroundings } from '../../support/api/surroundings.ts';

// Every operation of the table is asked what the contract says of all of them.

let around: Surroundings;
let caller: TestCaller;
/** A caller of plan empresa, which has delta files. */
let enterprise: TestCaller;
let free: TestCaller;
let micro: TestCaller;
const ids: Record<string, string> = {};

const all = Object.entries<Operation>(operations) as [OperationName, Operation][];
// The answer of a stream never ends, and a file has rules of its own (delta-files.test.ts).
const reading = all.filter(
  ([, { method, textType, fileTypes }]) =>
    method === 'get' && textType !== 'text/event-stream' && fileTypes === undefined,
);
const writing = all.filter(([, { body }]) => body !== undefined);

beforeAll(async () => {
  ({ around, caller } = await startLoadedApi());
  const { pool, api } = around;
  enterprise = await makeCaller(pool, api.url, { plan: 'empresa' });
  free = await makeCaller(pool, api.url, { plan: 'free' });
  micro = await makeCaller(pool, api.url, { plan: 'micro' });
  const post = (target: string, json: unknown) => caller.request(target, { method: 'POST', json });
  const list = (await (await post('/id/v1/watch/listas', { nombre: 'Proveedores' })).json()) as {
    data: { id: number };
  };
  ids.lista = String(list.data.id);
  const webhook = await (await post('/id/v1/watch/webhooks', { url: publicUrl })).json();
  ids.webhook = createdWebhookAnswer.parse(webhook).data.id;
  const ping = await (await post(`/id/v1/watch/webhooks/${ids.webhook}/prueba`, {})).json();
  ids.entrega = testAnswer.parse(ping).data.entrega;
  const { body } = exampleRequests.crearRecuperacion;
  const recovery = await (await post(`/id/v1/watch/webhooks/${ids.webhook}/recuperaciones`, body)).json();
  ids.recuperacion = createdRecoveryAnswer.parse(recovery).data.id;
  const check = (await (await caller.request(`/id/v1/proveedor/${company}`)).json()) as {
    meta: { consulta_id: string };
  };
  ids.consulta_id = check.meta.consulta_id;
});
afterAll(() => around?.stop());

const named = ({ parameters = {}, ...rest }: ExampleRequest): ExampleRequest => ({
  ...rest,
  parameters: Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, value.startsWith('$') ? ids[value.slice(1)]! : value]),
  ),
});
const addressOf = (name: OperationName) => targetOf(operations[name].path, named(exampleRequests[name]));
const withQuery = (address: string, more: string) => `${address}${address.includes('?') ? '&' : '?'}${more}`;

describe('an answer that is read', () => {
  test.each(reading)('%s: cached as the table says, 304, HEAD, request id, limits', async (name, operation) => {
    const address = addressOf(name);
    const by = operation.access === 'empresa' ? enterprise : caller;
    const response = await by.request(address, { headers: { 'x-request-id': 'mi peticion 7' } });
    const body = await response.text();
    expect(response.status, body).toBe(200);
    const header = (key: string) => response.headers.get(key);
    expect(header('x-request-id')).toBe('mi peticion 7');
    expect(header('ratelimit-policy')).toMatch(/^"minuto";q=\d+;w=60/);
    expect(header('ratelimit')).toMatch(/^"minuto";r=\d+;t=\d+/);
    for (const older of ['limit', 'remaining', 'reset']) expect(header(`x-ratelimit-${older}`)).toMatch(/^\d+$/);
    expect(header('ratelimit')!.includes('"mes"'), 'says what is left of the month').toBe(
      operation.charge !== undefined,
    );
    const { caching = 'never' } = operation;
    expect(header('cache-control')).toBe(
      { never: 'no-store', revalidated: 'private, no-cache', minute: 'private, max-age=60' }[caching],
    );
    if (caching === 'never') expect(header('etag')).toBeNull();
    else await expectRevalidated(address, header('etag')!);
    if (caching === 'revalidated') expect(header('vary')).toBe('Authorization, Accept-Encoding');
    if (caching !== 'never') await expectDated(address, header('last-modified')!);
    await expectHead(by, address, operation, response);
  });

  async function expectRevalidated(address: string, etag: string): Promise<void> {
    expect(etag).toMatch(/^W\/"/);
    const again = await caller.request(address, { headers: { 'if-none-match': etag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect(again.headers.get('etag')).toBe(etag);
    expect(again.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  }

  async function expectDated(address: string, modified: string): Promise<void> {
    const since = (time: string, more: Record<string, string> = {}) =>
      caller.request(address, { headers: { 'if-modified-since': time, ...more } });
    const again = await since(modified);
    expect([again.status, await again.text(), again.headers.get('last-modified')]).toEqual([304, '', modified]);
    expect(again.headers.get('etag')).toMatch(/^W\/"/);
    expect((await since(new Date(Date.parse(modified) - 1_000).toUTCString())).status).toBe(200);
    expect((await since(modified, { 'if-none-match': 'W/"other"' })).status).toBe(200);
  }

  async function expectHead(by: TestCaller, address: string, { isGetOnly }: Operation, get: Response): Promise<void> {
    const head = await by.request(address, { method: 'HEAD' });
    expect(await head.text()).toBe('');
    expect(head.status).toBe(isGetOnly === true ? 405 : 200);
    if (isGetOnly === true) return;
    for (const key of ['content-type', 'content-length', 'cache-control', 'etag'])
      expect(head.headers.get(key), key).toBe(get.headers.get(key));
  }
});

describe('what is refused', () => {
  test.each(all)('%s: without a token; then with too low a plan', async (name, { method, access }) => {
    const address = addressOf(name);
    const options = { method: method.toUpperCase() };
    const response = await requestsOf(around.api.url, null)(address, options);
    expect(response.headers.get('content-language')).toBe('es');
    await expectProblem(response, 'sin_token');
    const tooLow: Partial<Record<Access, [TestCaller, string]>> = {
      micro: [free, 'micro'],
      crecimiento: [micro, 'crecimiento'],
      crecimiento_or_lists: [micro, 'crecimiento'],
      empresa: [caller, 'empresa'],
    };
    const [lower, plan] = tooLow[access] ?? [];
    if (lower === undefined) return;
    const problem = await expectProblem(await lower.request(address, options), 'plan_insuficiente');
    expect(problem.detail).toContain(plan!);
  });

  test.each(all)('%s: an unknown parameter, never ignored', async (name, { method, access, body }) => {
    const by = access === 'empresa' ? enterprise : caller;
    const address = withQuery(addressOf(name), 'desconocido=1');
    const sent = body === undefined ? {} : { json: exampleRequests[name].body ?? {} };
    const response = await by.request(address, { method: method.toUpperCase(), ...sent });
    if (access === 'calendar_feed') return expect(response.status).toBe(200);
    const problem = await expectProblem(response, 'parametro_desconocido');
    expect(problem.errors).toEqual([{ campo: 'desconocido', mensaje: expect.any(String) }]);
    expect(problem.instance).not.toContain('?');
  });

  test.each(writing)(
    '%s: an unknown field; a body too large, of another type, or no JSON',
    async (name, { method }) => {
      const address = addressOf(name);
      const send = (body: string, type = 'application/json') =>
        caller.request(address, { method: method.toUpperCase(), body, headers: { 'content-type': type } });
      const { body = {} } = exampleRequests[name];
      await expectProblem(await send(JSON.stringify({ ...(body as object), otro: 1 })), 'parametro_desconocido');
      await expectProblem(await send(JSON.stringify({ a: 'x'.repeat(66_000) })), 'cuerpo_demasiado_grande');
      await expectProblem(await send(JSON.stringify(body), 'text/plain'), 'tipo_no_admitido');
      await expectProblem(await send('{"a":'), 'json_invalido');
      await expectProblem(await send('[]'), 'parametro_invalido');
    },
  );

  test('each path: another method, and the answer names the methods that it has', async () => {
    for (const [name, { path }] of all) {
      const address = addressOf(name).split('?')[0]!;
      const response = await caller.request(address, { method: 'PUT' });
      expect(response.headers.get('allow'), path).toBe(methodsAt(address).join(', '));
      await expectProblem(response, 'metodo_no_permitido');
    }
  });

  /** The methods of the path that equals the address, else of every path that it fits. */
  function methodsAt(address: string): string[] {
    const exact = all.filter(([, { path }]) => path === address);
    const fitting =
      exact.length > 0
        ? exact
        : all.filter(([, { path }]) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(address));
    const methods = fitting.flatMap(([, { method, isGetOnly }]) =>
      method === 'get' && isGetOnly !== true ? ['GET', 'HEAD'] : [method.toUpperCase()],
    );
    return [...new Set(methods)].sort();
  }
});

describe('the documentation, without a token', () => {
  test('the document is that of the table', async () => {
    const response = await fetch(`${around.api.url}/openapi.json`);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(response.headers.get('cache-control')).toBe('public, max-age=300');
    const document = (await response.json()) as { openapi: string; paths: Record<string, object> };
    expect(document.openapi).toBe('3.1.0');
    expect(Object.keys(document.paths).sort()).toEqual([...new Set(all.map(([, { path }]) => path))].sort());
  });

  test('says in words which windows there are and whose requests they count', async () => {
    const { info } = (await (await fetch(`${around.api.url}/openapi.json`)).json()) as {
      info: { description: string };
    };
    for (const words of ['ventana fija y por cuenta', 'por dirección IP', 'hora de Lima', 'Retry-After'])
      expect(info.description.replace(/\s+/g, ' ')).toContain(words);
    const page = await (await fetch(`${around.api.url}/errores/limite_por_minuto`)).text();
    expect(page).toContain('La ventana es fija');
  });

  test('the page loads what this server has and nothing else', async () => {
    const page = await fetch(`${around.api.url}/docs`);
    expect(page.headers.get('content-security-policy')).toContain(
      "default-src 'none'; script-src 'self'; style-src 'self'",
    );
    const text = await page.text();
    for (const [name] of all) expect(text).toContain(`href="/docs/${name}"`);
    const assets = [...text.matchAll(/(?:src|href)="([^"#]+)[^"]*"/g)].map(([, address]) => address!);
    for (const asset of assets) {
      expect(asset).not.toMatch(/^(https?:)?\/\//);
      const response = await fetch(new URL(asset, `${around.api.url}/docs`));
      expect([asset, response.status]).toEqual([asset, 200]);
      expect((await response.text()).length).toBeGreaterThan(50);
    }
  });

  test('a slash at the end of an address leads to the page whose links are right', async () => {
    for (const [address, page] of [
      ['/docs/', '/docs'],
      ['/errores/', '/errores'],
      ['/errores/sin_token/', '/errores/sin_token'],
    ] as const) {
      const response = await fetch(`${around.api.url}${address}`);
      expect([response.status, new URL(response.url).pathname]).toEqual([200, page]);
    }
  });

  test('a code that does not exist has no page', async () => {
    await expectProblem(await fetch(`${around.api.url}/errores/toString`), 'recurso_no_encontrado');
    const index = await (await fetch(`${around.api.url}/errores`)).text();
    expect(index).toContain('errores/ruc_no_encontrado');
  });
});
