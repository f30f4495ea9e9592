import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { company, person, startLoadedApi } from '../../support/api/loaded-api.ts';
import { expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import type { Surroundings } from '../../support/api/surroundings.ts';

// Requests that no well-behaved client sends, and the first request of an account.

const batch = '/id/v1/ruc/batch';

let around: Surroundings;
let caller: TestCaller;

beforeAll(async () => {
  ({ around, caller } = await startLoadedApi());
});
afterAll(() => around?.stop());

const send = (body: string, type = 'application/json') =>
  caller.request(batch, { method: 'POST', body, headers: { 'content-type': type } });

describe('bodies', () => {
  test('the rest of a refused body does not precede the next request of its connection', async () => {
    const socket = await connected();
    const request = `Host: x\r\nAuthorization: Bearer ${caller.token}\r\n`;
    socket.write(`POST ${batch} HTTP/1.1\r\n${request}Content-Type: application/json\r\n`);
    socket.write('Transfer-Encoding: chunked\r\n\r\n');
    writeChunk(socket, 'x'.repeat(70_000));
    await expect.poll(() => socket.text(), { timeout: 10_000 }).toMatch(/^HTTP\/1\.1 413 /);
    // More than the socket's buffers can hold.
    for (let more = 0; more < 100; more += 1) writeChunk(socket, 'x'.repeat(100_000));
    socket.write(`0\r\n\r\nGET /id/v1/ruc/${company} HTTP/1.1\r\n${request}Connection: close\r\n\r\n`);
    await expect.poll(() => socket.text(), { timeout: 20_000 }).toMatch(/HTTP\/1\.1 200 OK\r\n/);
    socket.destroy();
  });

  test('a compressed, large and corrupt body is refused, and the process goes on', async () => {
    // The wrong checksum is found only after the decompressed body has grown too large.
    const packed = gzipSync(Buffer.alloc(98_304, ' '));
    packed[packed.length - 6]! ^= 0xff;
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    await expectProblem(await caller.request(batch, { method: 'POST', body: packed, headers }), 'tipo_no_admitido');
    await sleep(200);
    expect((await send(`{"rucs":["${company}"]}`)).status).toBe(200);
  });

  test('every accepted type is read', async () => {
    for (const type of ['application/json; charset=utf-8', 'application/vnd.api+json', 'application/otro+json'])
      expect([type, (await send(`{"rucs":["${company}"]}`, type)).status]).toEqual([type, 200]);
  });

  test('a body that is not UTF-8 is refused, so no letter is stored as another', async () => {
    const lists = '/id/v1/watch/listas';
    const name = 'Compañía';
    const sendName = (body: string | Buffer<ArrayBuffer>, type: string) =>
      caller.request(lists, { method: 'POST', body, headers: { 'content-type': type } });
    const latin1 = Buffer.from(JSON.stringify({ nombre: name }), 'latin1');
    await expectProblem(await sendName(latin1, 'application/json'), 'json_invalido');
    for (const charset of ['iso-8859-1', 'utf-16', '"windows-1252"'])
      await expectProblem(await sendName(latin1, `application/json; charset=${charset}`), 'tipo_no_admitido');
    for (const [index, charset] of ['UTF-8', 'utf8', '"utf-8"'].entries()) {
      // With a byte order mark, as some editors write.
      const body = `\uFEFF${JSON.stringify({ nombre: `${name} ${index}` })}`;
      const response = await sendName(body, `application/json; charset=${charset}`);
      const { data } = (await response.json()) as { data: { nombre: string } };
      expect([response.status, data.nombre]).toEqual([201, `${name} ${index}`]);
    }
  });

  test('64 kB are read, one byte more is refused', async () => {
    const padded = (bytes: number) => `{"rucs":["${company}"]}`.padEnd(bytes);
    expect((await send(padded(65_536))).status).toBe(200);
    await expectProblem(await send(padded(65_537)), 'cuerpo_demasiado_grande');
  });

  test('of many errors the first ones are shown', async () => {
    const rucs = (count: number) => send(JSON.stringify({ rucs: Array(count).fill(1) }));
    const wrong = await expectProblem(await rucs(100), 'parametro_invalido');
    expect(wrong.errors).toHaveLength(20);
    // Too many to be checked one by one.
    await expectProblem(await rucs(30_000), 'limite_excedido');
    const names = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, 1]));
    const unknown = await expectProblem(await send(JSON.stringify(names)), 'parametro_desconocido');
    expect(unknown.errors).toHaveLength(20);
    expect(unknown.detail).toMatch(/k19 y 4980 más\.$/);
  });
});

test.each(['0000-01-01', '0000-12-31'])('%s is refused as a day, and not reported as a failing store', async (day) => {
  await expectProblem(await caller.request(`/id/v1/ruc/${company}?fecha=${day}`), 'fecha_invalida');
});

test('PostgreSQL hangs: an answer that must be recorded first gives 503 and does not wait for it', async () => {
  const path = `/id/v1/proveedor/${company}`;
  expect((await caller.request(path)).status).toBe(200);
  around.postgresLine.freeze();
  try {
    await expectProblem(await caller.request(path), 'servicio_no_disponible');
  } finally {
    around.postgresLine.thaw();
  }
  await expect.poll(async () => (await caller.request(path)).status, { timeout: 20_000 }).toBe(200);
});

describe('what is left of the month is shown also to a refused caller and to a new one', () => {
  test.each([
    ['a RUC that is none', '/id/v1/ruc/123', {}, 400],
    ["a natural person's", `/id/v1/ruc/${person}/historial`, {}, 403],
    ['a batch without a RUC to look up', batch, { method: 'POST', json: { rucs: ['123'] } }, 200],
  ])('%s', async (_, target, options, status) => {
    const newcomer = await makeCaller(around.pool, around.api.url);
    const response = await newcomer.request(target, options);
    expect(response.status).toBe(status);
    expect(response.headers.get('ratelimit-policy')).toMatch(/^"minuto";q=\d+;w=60, "mes";q=10000000;w=\d+$/);
    expect(response.headers.get('ratelimit')).toMatch(/, "mes";r=10000000;t=\d+$/);
  });
});

type Listening = Socket & { text(): string };

async function connected(): Promise<Listening> {
  const { hostname, port } = new URL(around.api.url);
  let text = '';
  const socket = Object.assign(connect(Number(port), hostname), { text: () => text });
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}

function writeChunk(socket: Socket, chunk: string): void {
  socket.write(`${chunk.length.toString(16)}\r\n`);
  socket.write(chunk);
  socket.write('\r\n');
}
