import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { Downloads, rangeStream } from '../../../../api/editions/downloads.ts';

const folder = mkdtempSync(join(tmpdir(), 'padron-downloads-'));
const path = join(folder, 'file');
writeFileSync(path, Buffer.alloc(1_000_000, 'x'));
const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const limits = { maxPerAccount: 2, maxPerProcess: 3, stallMs: 60_000, retryAfterSeconds: 5 };

/** A server whose responses the test ends. */
async function startResponses(): Promise<{ url: string; next(): Promise<[ServerResponse, AbortController]> }> {
  const waiting: ((response: ServerResponse) => void)[] = [];
  const server = createServer((_, response) => waiting.shift()!(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const next = () =>
    new Promise<[ServerResponse, AbortController]>((resolve) => {
      const client = new AbortController();
      waiting.push((response) => resolve([response, client]));
      fetch(url, { signal: client.signal }).catch(() => {});
    });
  return { url, next };
}

test('an account and the process have so many places, and a response that closes gives its own back', async () => {
  const { next } = await startResponses();
  const downloads = new Downloads(limits);
  const [[first, client], [second], [third], [fourth]] = [await next(), await next(), await next(), await next()];
  downloads.take(1, first);
  downloads.take(1, second);
  expect(() => downloads.take(1, third)).toThrow(expect.objectContaining({ code: 'demasiadas_descargas' }));
  downloads.take(2, third);
  expect(() => downloads.take(3, fourth)).toThrow(expect.objectContaining({ code: 'servicio_no_disponible' }));
  client.abort();
  await expect.poll(() => downloads.count).toBe(2);
  downloads.take(3, fourth);
  second.end();
  await expect.poll(() => downloads.count).toBe(2);
  downloads.stop();
  await expect.poll(() => downloads.count).toBe(0);
});

test('a client that went before it got a place holds none', async () => {
  const { next } = await startResponses();
  const downloads = new Downloads(limits);
  const [response, client] = await next();
  const closed = new Promise((resolve) => response.once('close', resolve));
  client.abort();
  await closed;
  downloads.take(1, response);
  expect(downloads.count).toBe(0);
});

test('a client that takes nothing is cut off', async () => {
  const { next } = await startResponses();
  const downloads = new Downloads({ ...limits, stallMs: 50 });
  const [response] = await next();
  downloads.take(1, response);
  await expect.poll(() => downloads.count).toBe(0);
  expect(response.destroyed).toBe(true);
});

test('a range is read to its end, and the file is closed', async () => {
  const file = await open(path);
  const pieces = await rangeStream({ file }, { first: 999_990, last: 999_999 }).toArray();
  expect(Buffer.concat(pieces).toString()).toBe('x'.repeat(10));
  await expect.poll(() => file.fd).toBe(-1);
});

test('a stream that nobody reads closes the file, too', async () => {
  const file = await open(path);
  rangeStream({ file }, { first: 0, last: 999_999 }).destroy();
  await expect.poll(() => file.fd).toBe(-1);
});

test('a file that ends early fails the stream', async () => {
  const short = join(folder, 'short');
  writeFileSync(short, Buffer.alloc(100));
  const file = await open(short);
  truncateSync(short, 40);
  await expect(rangeStream({ file }, { first: 0, last: 99 }).toArray()).rejects.toThrow('60 bytes early');
});
