import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeEgressDispatcher } from '../../../../pipelines/runtime/egress/dispatcher.ts';
import { exchange } from '../../../../pipelines/runtime/egress/exchange.ts';
import { makeAuthority } from '../../../support/delivery/authority.ts';

// Raw bytes that a server may write, and how they are understood. Once the headers have arrived, the status stands.
const limits = {
  connectTimeoutMs: 3_000,
  headersTimeoutMs: 10_000,
  bodyIdleTimeoutMs: 10_000,
  connectionsPerOrigin: 2,
  keepAliveMs: 4_000,
};
let server: Server;
let dispatcher: Dispatcher;
let answer: (socket: TLSSocket) => void;
let connections = 0;

beforeAll(async () => {
  const authority = await makeAuthority('Answers test authority');
  const { certificatePem, keyPem } = await authority.issue({ names: ['127.0.0.1'] });
  server = createServer({ cert: certificatePem, key: keyPem }, (socket) => {
    connections += 1;
    socket.on('error', () => {});
    socket.on('data', (request) => {
      if (request.includes('\r\n\r\n')) answer(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  dispatcher = makeEgressDispatcher({ allowPrivateTargets: true, extraCaPem: authority.caPem }, limits);
});
beforeEach(() => {
  connections = 0;
});
afterAll(async () => {
  await dispatcher.destroy();
  server.close();
});

async function post(exchangeTimeoutMs = 3_000) {
  const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const message = { url, headers: {}, body: Buffer.from('{}') };
  const result = await exchange(dispatcher, message, { exchangeTimeoutMs, maxBodyBytes: 1_000 });
  if (!result.answered) return result.failure;
  return `${result.status} ${result.body.toString('latin1').slice(0, 20)}${result.bodyProblem === null ? '' : ` (${result.bodyProblem})`}`;
}

const ok = 'HTTP/1.1 200 OK\r\n';

describe('an answer is', () => {
  it.each([
    ['of HTTP/1.0, its body until the end', 'HTTP/1.0 200 OK\r\n\r\nhola', '200 hola'],
    ['without a body or a length', `${ok}\r\n`, '200 '],
    ['204 with a body that it may not have', 'HTTP/1.1 204 No Content\r\n\r\nhola', '204 '],
    ['after an early hint', `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${ok}Content-Length: 2\r\n\r\nsi`, '200 si'],
    ['after two interim ones', `HTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 E\r\n\r\n${ok}Content-Length: 0\r\n\r\n`, '200 '],
    ['shorter than it says', `${ok}Content-Length: 50\r\n\r\nhola`, '200 hola (broken)'],
    ['in pieces that break off', `${ok}Transfer-Encoding: chunked\r\n\r\n4\r\nhola\r\n`, '200 hola (broken)'],
    [
      'longer than what is kept',
      `${ok}Transfer-Encoding: chunked\r\n\r\n${`258\r\n${'a'.repeat(600)}\r\n`.repeat(4)}0\r\n\r\n`,
      '200 aaaaaaaaaaaaaaaaaaaa (cut)',
    ],
    ['in pieces that are none', `${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, '200  (broken)'],
    [
      'of a compression that it is not',
      `${ok}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nhola`,
      '200  (broken)',
    ],
    ['of two compressions, as it came', `${ok}Content-Encoding: gzip, br\r\nContent-Length: 4\r\n\r\nhola`, '200 hola'],
    ['of an unknown compression', `${ok}Content-Encoding: zstd\r\nContent-Length: 4\r\n\r\nhola`, '200 hola'],
    ['of a status nobody knows', 'HTTP/1.1 299 Odd\r\nContent-Length: 0\r\n\r\n', '299 '],
    ['of a status beyond all', 'HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n', '999 '],
    [
      'with headers named as parts of objects',
      `${ok}__proto__: x\r\nconstructor: y\r\nContent-Length: 0\r\n\r\n`,
      '200 ',
    ],
  ])('%s', async (_, text, expected) => {
    answer = (socket) => socket.end(text);
    expect(await post()).toBe(expected);
  });

  it('cut off with its connection right after the headers of a 2xx', async () => {
    answer = (socket) => {
      socket.write(`${ok}Content-Length: 50\r\n\r\n`, () => setTimeout(() => socket.destroy(), 30));
    };
    expect(await post()).toBe('200  (broken)');
  });

  it('accepted although its body never ends, or grows without end when it is unpacked', async () => {
    answer = (socket) => socket.write(`${ok}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n`);
    expect(await post(700)).toBe('200 x (timeout)');
    const bomb = gzipSync(Buffer.alloc(5_000_000, 'a'));
    answer = (socket) =>
      socket.end(
        Buffer.concat([Buffer.from(`${ok}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`), bomb]),
      );
    expect(await post()).toBe('200 aaaaaaaaaaaaaaaaaaaa (cut)');
  });
});

describe('no answer is', () => {
  it.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n', 'answer_malformed'],
    ['HTTP/2 spoken unasked', 'HTTP/2 200\r\n\r\n', 'answer_malformed'],
    ['headers larger than 16 kB', `${ok}X: ${'x'.repeat(40_000)}\r\n\r\n`, 'answer_malformed'],
    ['headers that break off', `${ok}Content-Le`, 'connection_lost'],
    ['nothing at all', '', 'connection_lost'],
    ['interim answers alone', 'HTTP/1.1 103 Early Hints\r\n\r\n', 'connection_lost'],
    [
      'another protocol offered',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
      'connection_lost',
    ],
    // The client treats a 100 that it did not ask for as the end of the connection.
    ['100 that nobody asked for', `HTTP/1.1 100 Continue\r\n\r\n${ok}Content-Length: 0\r\n\r\n`, 'connection_lost'],
    ['two lengths', `${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`, 'answer_malformed'],
  ])('%s', async (_, text, expected) => {
    answer = (socket) => socket.end(text);
    expect(await post()).toBe(expected);
  });

  it('endless interim answers, which end at the limit of the whole exchange', async () => {
    answer = (socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 50);
      socket.on('close', () => clearInterval(timer));
    };
    expect(await post(700)).toBe('timeout');
  });
});

it('after any answer, the next request uses an intact connection', async () => {
  const odd = [
    `${ok}Content-Length: 50\r\n\r\nhola`,
    'SSH-2.0\r\n',
    '',
    `${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
  ];
  for (const text of odd) {
    answer = (socket) => socket.end(text);
    await post();
    answer = (socket) => socket.write(`${ok}Content-Length: 2\r\n\r\nsi`);
    expect(await post()).toBe('200 si');
    // A kept connection may hold more bytes than were asked for. They are no answer to the next request.
    answer = (socket) => socket.write(`${ok}Content-Length: 2\r\n\r\nsi${ok}Content-Length: 2\r\n\r\nno`);
    expect(await post()).toBe('200 si');
    answer = (socket) => socket.write(`${ok}Content-Length: 2\r\n\r\nsi`);
    expect(await post()).toBe('200 si');
  }
  expect(connections).toBeGreaterThan(odd.length);
});

it('a request that timed out while it waited for a connection is never sent', async () => {
  const waiting: TLSSocket[] = [];
  answer = (socket) => void waiting.push(socket);
  const both = [post(), post()];
  await vi.waitFor(() => expect(waiting).toHaveLength(2));
  expect(await post(200)).toBe('timeout');
  for (const socket of waiting.splice(0)) socket.write(`${ok}Content-Length: 0\r\n\r\n`);
  expect(await Promise.all(both)).toEqual(['200 ', '200 ']);
  const last = post();
  await vi.waitFor(() => expect(waiting).not.toEqual([]));
  waiting[0]!.write(`${ok}Content-Length: 0\r\n\r\n`);
  expect(await last).toBe('200 ');
  expect(waiting).toHaveLength(1);
});
