import { afterAll, beforeAll, expect, test } from 'vitest';
import { contentPolicy } from '../../api/pages/answers.ts';
import { problemDocument } from '../../schemas/http/problem.ts';
import { responseTo } from '../support/api/raw-request.ts';
import { type Site, startSite } from '../support/pages/site.ts';
import { Visitor } from '../support/pages/visitor.ts';

// How pages are sent: policy, size, caching, and errors as pages for browsers only.

let site: Site;
beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site?.stop());

const chrome = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
const pages = [
  ['/', 200],
  ['/errores', 200],
  ['/errores/cuota_agotada', 200],
  ['/docs', 200],
  ['/docs/consultarRuc', 200],
  ['/docs/consultarRuc/probar', 200],
  ['/consola', 200],
  ['/estado', 503],
  ['/estado/nada', 404],
  ['/calendario', 200],
  ['/calendario?digito=3', 200],
  ['/calendario/plazo?desde=2026-07-24&dias=400&sector=publico', 200],
  ['/calendario/feriados', 200],
  ['/errores/no_existe', 404],
  ['/nada', 404],
  ['/recursos/nada.css', 404],
] as const;

/** Bytes of an answer as they are sent. */
async function sizeOf(path: string): Promise<number> {
  const response = await fetch(`${site.url}${path}`, { headers: { accept: chrome, 'accept-encoding': 'gzip' } });
  await response.arrayBuffer();
  return Number(response.headers.get('content-length'));
}

test.each(pages)(
  '%s has the whole policy, answers %i and weighs at most 60 kB with all its files',
  async (path, status) => {
    const response = await fetch(`${site.url}${path}`, { headers: { accept: chrome } });
    const html = await response.text();
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toBe(contentPolicy);
    expect(contentPolicy).not.toContain('unsafe');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(html).toMatch(/^<!doctype html>\n<html lang="es">/);
    // What the policy would block would be a defect of ours.
    expect(html).not.toMatch(/ style="| on[a-z]+="|<style|<script(?! type="module" src="\/)/);
    const files = [...html.matchAll(/(?:src|href)="(\/recursos\/[^"]+)"/g)].map(([, file]) => file!);
    expect(files.length).toBeGreaterThanOrEqual(3);
    const sizes = await Promise.all([path, ...files].map(sizeOf));
    expect(sizes.every((size) => size > 0)).toBe(true);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(60_000);
  },
);

test('errors stay JSON for programs, and on every path of the API', async () => {
  const asked = [
    ['/nada', '*/*'],
    ['/nada', 'application/json'],
    ['/nada', ''],
    ['/errores/no_existe', 'application/problem+json, */*'],
    ['/id/v1/nada', chrome],
    ['/id/v1/cuenta', chrome],
    ['/openapi.json?x=1', chrome],
  ] as const;
  for (const [path, accept] of asked) {
    const answer = await responseTo(
      site.url,
      `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${accept === '' ? '' : `Accept: ${accept}\r\n`}\r\n`,
    );
    expect(answer.headers.get('content-type'), `${path} ${accept}`).toBe('application/problem+json');
    problemDocument.parse(await answer.json());
  }
});

test('a file is kept for ever under the address of its bytes, and asked for again under another', async () => {
  const { html } = await new Visitor(site.url).get('/');
  const sheet = /\/recursos\/padron-[0-9a-f]{12}\.css/.exec(html)![0];
  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${site.url}${path}`, { headers });
  const first = await get(sheet, { 'accept-encoding': 'br' });
  expect(first.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(first.headers.get('content-encoding')).toBe('br');
  expect(first.headers.get('vary')).toBe('Accept-Encoding');
  const again = await get(sheet, { 'if-none-match': first.headers.get('etag')! });
  expect([again.status, await again.text()]).toEqual([304, '']);
  const plain = await get('/recursos/padron.css');
  expect(plain.headers.get('cache-control')).toBe('public, no-cache');
  const older = await get(sheet.replace(/[0-9a-f]{12}/, '0123456789ab'));
  expect([older.status, older.headers.get('cache-control')]).toEqual([200, 'public, no-cache']);
});

test('a page is sent as the client can read it, and again only when it changed', async () => {
  const get = (headers: Record<string, string>) => fetch(`${site.url}/docs`, { headers });
  const plain = await get({ 'accept-encoding': 'identity' });
  expect(plain.headers.get('content-encoding')).toBeNull();
  const text = await plain.text();
  for (const encoding of ['gzip', 'br']) {
    const packed = await get({ 'accept-encoding': encoding });
    expect(packed.headers.get('content-encoding')).toBe(encoding);
    expect(await packed.text()).toBe(text);
  }
  const again = await get({ 'if-none-match': plain.headers.get('etag')! });
  expect([again.status, await again.text()]).toEqual([304, '']);
  const head = await fetch(`${site.url}/docs`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

test('a link with a parameter that another site added still leads to the page', async () => {
  const { status } = await new Visitor(site.url).get('/errores/sin_token?utm_source=boletin');
  expect(status).toBe(200);
});

test('under a path of a proxy, every link and file has that path', async () => {
  const below = await startSite({ baseUrl: 'https://example.pe/padron' });
  try {
    const visitor = new Visitor(below.url);
    for (const path of ['/', '/docs', '/consola']) {
      const { html } = await visitor.get(path);
      for (const [, address] of html.matchAll(/(?:src|href|action)="(\/[^"]*)"/g))
        expect(address).toMatch(/^\/padron\//);
    }
    const { headers } = await visitor.get('/consola/resumen');
    expect(headers.get('location')).toMatch(/^\/padron\/consola\?/);
  } finally {
    await below.stop();
  }
});

test('neither a name nor the RUC of a person in a form or an address reaches the log', async () => {
  const visitor = new Visitor(site.url);
  await visitor.get('/docs/consultarRuc/probar?ruc=10990000013');
  await visitor.get('/persona/10990000013');
  await visitor.get('/docs/consultarRuc/probar');
  const fields = { token: 'pad_sandbox_publico', ruc: '10990000013' };
  const answer = await visitor.post('/docs/consultarRuc/probar', { form: 'probar', fields });
  expect(answer.status).toBe(200);
  await visitor.post('/consola', { form: 'entrar', fields: { token: 'x', nombre: 'JUANA PERSONA PLANTADA' } });
  expect(site.logLines()).not.toMatch(/10990000013|PLANTADA/);
});
