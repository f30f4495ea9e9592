import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Serving, serve } from '../../../api/serve.ts';
import type { Logger } from '../../../pipelines/runtime/log.ts';
import { expectProblem } from '../../support/api/process.ts';
import { bytesOf, responseTo } from '../../support/api/raw-request.ts';

// Bytes that no HTTP client would send, but some programs do.
const lines: Record<string, unknown>[] = [];
const log = { info: (line: Record<string, unknown>) => void lines.push(line) } as unknown as Logger;
let serving: Serving;
/** Gives up a request that has not arrived after a second. The other one would not, should the machine stand still. */
let impatient: Serving;
beforeAll(async () => {
  const listener: Parameters<typeof serve>[0] = (request, response) => {
    // An answer that has begun and does not end before its connection does.
    if (request.url === '/slow') response.writeHead(200).write('first');
    else response.end('good');
  };
  const options = { host: '127.0.0.1', port: 0, baseUrl: 'https://api.example.pe', log };
  serving = await serve(listener, { ...options, requestTimeoutMs: 60_000 });
  impatient = await serve(listener, { ...options, requestTimeoutMs: 1_000 });
});
afterAll(() => Promise.all([serving.stop(), impatient.stop()]));

const address = (of = serving) => `http://127.0.0.1:${of.port}`;

test('for an address with unencoded letters the answer explains the encoding', async () => {
  const answer = await responseTo(address(), 'GET /id/v1/ruc/buscar?q=compañía HTTP/1.1\r\nHost: a\r\n\r\n');
  const problem = await expectProblem(answer, 'parametro_invalido');
  expect(problem.type).toBe('https://api.example.pe/errores/parametro_invalido');
  expect(problem.detail).toContain('--data-urlencode');
});

test.each([
  ['no HTTP', 'what is this\r\n\r\n', 'peticion_mal_formada'],
  [
    'a header with a character that none may have',
    'GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n',
    'peticion_mal_formada',
  ],
  [
    'two lengths',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    'peticion_mal_formada',
  ],
  ['a header too long', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, 'cabeceras_demasiado_grandes'],
  // The rest arrives after the answer.
  ['one much too long', `GET /?q=${'x'.repeat(2_000_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 'cabeceras_demasiado_grandes'],
  ['a request that does not come to its end', 'GET / HTTP/1.1\r\nHost: a\r\n', 'peticion_incompleta'],
] as const)('%s is answered with a problem, logged, and the connection closed', async (_, bytes, code) => {
  lines.length = 0;
  const response = await responseTo(address(code === 'peticion_incompleta' ? impatient : serving), bytes);
  expect([response.headers.get('connection'), response.headers.get('content-language')]).toEqual(['close', 'es']);
  const { status, request_id, detail } = await expectProblem(response, code);
  expect(detail).not.toMatch(/undefined|NaN/);
  expect(lines).toMatchObject([{ request_id, status, code }]);
});

test('nothing is written into an answer that has begun', async () => {
  const answer = await bytesOf(
    address(),
    'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /ñ HTTP/1.1\r\nHost: a\r\n\r\n',
  );
  expect(answer).toContain('first');
  expect(answer).not.toContain('400');
});

test('a good request is answered, whatever its Expect header says', async () => {
  const request = 'GET / HTTP/1.1\r\nHost: a\r\nExpect: the-best\r\nConnection: close\r\n\r\n';
  expect(await bytesOf(address(), request)).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*good/);
});
