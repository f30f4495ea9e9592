import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Serving, serve } from '../../../api/serve.ts';
import { problemDocument } from '../../../schemas/http/problem.ts';

// Bytes on a socket: what no HTTP client would send, and some programs do.
let serving: Serving;
beforeAll(async () => {
  const listener: Parameters<typeof serve>[0] = (request, response) => {
    // An answer that has begun and stays so until its connection is gone.
    if (request.url === '/slow') response.writeHead(200).write('first');
    else response.end('good');
  };
  serving = await serve(listener, '127.0.0.1', 0, 'https://api.example.pe');
});
afterAll(() => serving.stop());

/** All that comes back until the other side closes. */
async function answerTo(...pieces: string[]): Promise<string> {
  const socket = connect(serving.port, '127.0.0.1').on('error', () => {});
  let text = '';
  socket.setEncoding('utf8').on('data', (piece) => (text += piece));
  const [first, ...rest] = pieces;
  socket.write(first!);
  for (const piece of rest) {
    await once(socket, 'data');
    socket.write(piece);
  }
  if (!socket.closed) await once(socket, 'close');
  return text;
}

test('an address with letters as they are typed is told how to write them', async () => {
  const answer = await answerTo('GET /id/v1/ruc/buscar?q=compañía HTTP/1.1\r\nHost: a\r\n\r\n');
  const [head, body] = answer.split('\r\n\r\n') as [string, string];
  expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(head).toContain('Content-Type: application/problem+json');
  const problem = problemDocument.parse(JSON.parse(body));
  expect(problem).toMatchObject({
    code: 'parametro_invalido',
    type: 'https://api.example.pe/errores/parametro_invalido',
  });
  expect(problem.detail).toContain('--data-urlencode');
});

test('anything else is answered as Node does', async () => {
  expect(await answerTo('what is this\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nConnection: close\r\n\r\n$/);
  expect(await answerTo(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
});

test('an answer that has begun gets nothing into it', async () => {
  const answer = await answerTo('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n', 'GET /ñ HTTP/1.1\r\nHost: a\r\n\r\n');
  expect(answer).toContain('first');
  expect(answer).not.toContain('400');
});

test('a good request is answered', async () => {
  expect(await answerTo('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(/good/);
});
