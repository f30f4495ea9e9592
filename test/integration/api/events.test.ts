import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventId } from '../../../pipelines/watch/match.ts';
import { defaultRetentionRule, removeExpired } from '../../../pipelines/webhooks/retention.ts';
import { eventsAnswer } from '../../../schemas/http/events.ts';
import { expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { insertEdition, untilCatalogueIsRead } from '../../support/registers/served-register.ts';
import { insertList, writeChanges } from '../../support/watch/events.ts';

const path = '/id/v1/watch/eventos';
const firstRuc = '20990000019';
const secondRuc = '20131312955';

let around: Surroundings;
let caller: TestCaller;
let stranger: TestCaller;

beforeAll(async () => {
  around = await startSurroundings();
  await insertEdition(around.pool, { number: 1, fechaDato: '2026-11-26' });
  await untilCatalogueIsRead();
  caller = await makeCaller(around.pool, around.api.url);
  stranger = await makeCaller(around.pool, around.api.url);
});
afterAll(() => around.stop());

const makeList = (by: TestCaller) => insertList(around.pool, by);
const write = (by: TestCaller, list: number, edition: number, rucs: string[], detectedAt: Date) =>
  writeChanges(around.pool, by, { list, edition, rucs, detectedAt });

async function read(by: TestCaller, query: string) {
  const response = await by.request(`${path}?${query}`);
  expect(response.status).toBe(200);
  expect(response.headers.get('cache-control')).toBe('no-store');
  return eventsAnswer.parse(await response.json());
}

describe('history of events', () => {
  let list: number;
  // 02:00 of the 27th in Lima belongs to the 27th there, 23:30 of the 26th does not.
  const late = new Date('2026-11-27T04:30:00Z');
  const night = new Date('2026-11-27T07:00:00Z');

  test('an empty page has a cursor, which continues when an event comes', async () => {
    const empty = await read(caller, '');
    expect(empty).toMatchObject({ data: [], meta: { hay_mas: false, fecha_dato: '2026-11-26' } });
    list = await makeList(caller);
    await around.pool.query(
      "INSERT INTO webhook (id, account_id, url, created_at) VALUES ('wh_uno', $1, 'https://x.test/', '2020-01-01')",
      [caller.accountId],
    );
    await write(caller, list, 1, [firstRuc], late);
    await write(caller, list, 2, [firstRuc, secondRuc], night);
    const { data, meta } = await read(caller, `cursor=${empty.meta.cursor}`);
    expect(data.map((event) => event.posicion)).toEqual([1, 2, 3]);
    expect(data[0]).toEqual({
      id: eventId('padron_reducido', 1, firstRuc, 'estado', list),
      posicion: 1,
      evento: 'ruc.estado_cambiado',
      ocurrido_en: '2026-11-26T23:30:00-05:00',
      datos: {
        ruc: firstRuc,
        campo: 'estado',
        antes: 'ACTIVO',
        despues: 'SUSPENSIÓN TEMPORAL',
        fecha_dato: '2026-11-26',
      },
      watchlist: { id: list, nombre: 'Lista', referencia: null },
      correccion: null,
      entregas: [{ webhook: 'wh_uno', estado: 'pendiente' }],
    });
    expect(await read(caller, `cursor=${meta.cursor}`)).toMatchObject({ data: [], meta: { cursor: meta.cursor } });
    expect((await read(stranger, '')).data).toEqual([]);
  });

  test.each([
    ['desde=2026-11-27', [2, 3]],
    ['hasta=2026-11-26', [1]],
    ['desde=2026-11-26&hasta=2026-11-27', [1, 2, 3]],
    ['desde=2026-11-27T07:00:00Z', [2, 3]],
    ['hasta=2026-11-27T06:59:59.999Z', [1]],
    ['desde=2026-11-26T23:30:00-05:00', [1, 2, 3]],
    [`ruc=${secondRuc}`, [3]],
    ['evento=ruc.estado_cambiado', [1, 2, 3]],
    ['evento=ruc.baja', []],
    ['lista=999999', []],
    ['limite=2', [1, 2]],
  ] as const)('filter %s', async (query, positions) => {
    const { data } = await read(caller, query.replaceAll('+', '%2B'));
    expect(data.map((event) => event.posicion)).toEqual(positions);
  });

  test('the filter by list matches the list of the event', async () => {
    expect((await read(caller, `lista=${list}`)).data).toHaveLength(3);
  });

  test.each([
    ['limite=0', 'parametro_invalido'],
    ['limite=501', 'parametro_invalido'],
    ['desde=2026-02-30', 'parametro_invalido'],
    ['desde=ayer', 'parametro_invalido'],
    ['ruc=20990000018', 'parametro_invalido'],
    ['evento=ruc.otro', 'parametro_invalido'],
    ['lista=abc', 'parametro_invalido'],
    ['cursor=eventos:1', 'parametro_invalido'],
    [`cursor=${Buffer.from('listas:1').toString('base64url')}`, 'parametro_invalido'],
    ['limite=1&limite=2', 'parametro_invalido'],
    ['fecha=2026-11-26', 'parametro_desconocido'],
  ] as const)('%s is refused', async (query, code) => {
    const problem = await expectProblem(await caller.request(`${path}?${query}`), code);
    expect(problem.errors).toHaveLength(1);
  });

  test('a cursor beyond the account’s last position is refused as another account’s, and skips nothing silently', async () => {
    const { meta } = await read(caller, '');
    await expectProblem(await stranger.request(`${path}?cursor=${meta.cursor}`), 'parametro_invalido');
  });

  test('HEAD is answered like GET, other methods are refused', async () => {
    const head = await caller.request(path, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    await expectProblem(await caller.request(path, { method: 'DELETE' }), 'metodo_no_permitido');
  });
});

test('a reader that follows the cursor while four writers commit in any order misses nothing and repeats nothing', async () => {
  const by = await makeCaller(around.pool, around.api.url);
  const lists = await Promise.all([makeList(by), makeList(by), makeList(by), makeList(by)]);
  const rounds = 12;
  const rucs = Array.from({ length: 6 }, (_, index) => `2000000000${index}`);
  let isWriting = true;
  const writers = Promise.all(
    lists.map(async (list) => {
      for (let edition = 1; edition <= rounds; edition += 1)
        await write(by, list, edition, rucs, new Date(Date.UTC(2026, 10, 20 + (edition % 5), 12)));
    }),
  ).finally(() => {
    isWriting = false;
  });

  const seen: number[] = [];
  let cursor: string | null = null;
  for (;;) {
    const writingBefore = isWriting;
    const page = await read(by, `limite=37${cursor === null ? '' : `&cursor=${cursor}`}`);
    seen.push(...page.data.map((event) => event.posicion));
    cursor = page.meta.cursor;
    if (!writingBefore && page.data.length === 0) break;
  }
  await writers;
  const total = lists.length * rounds * rucs.length;
  expect(seen).toEqual(Array.from({ length: total }, (_, index) => index + 1));
});

test('polling without new events reads no partition', async () => {
  const by = await makeCaller(around.pool, around.api.url);
  await write(by, await makeList(by), 1, [firstRuc], new Date('2026-11-26T12:00:00Z'));
  const { meta } = await read(by, '');
  const client = await around.pool.connect();
  try {
    await client.query('BEGIN');
    await client.query('LOCK TABLE event IN ACCESS EXCLUSIVE MODE');
    const signal = AbortSignal.timeout(5_000);
    expect((await by.request(`${path}?cursor=${meta.cursor}`, { signal })).status).toBe(200);
  } finally {
    client.release(true);
  }
  expect(await read(by, `cursor=${meta.cursor}`)).toMatchObject({ data: [], meta: { cursor: meta.cursor } });
});

test('the cursor of a filter that lets nothing pass goes on, so the retention never reaches it', async () => {
  const by = await makeCaller(around.pool, around.api.url);
  const list = await makeList(by);
  const old = new Date('2025-01-10T12:00:00Z');
  await write(by, list, 1, [secondRuc], old);
  const first = await read(by, `ruc=${secondRuc}`);
  expect(first.data).toHaveLength(1);
  await write(by, list, 2, [firstRuc], old);
  const narrow = await read(by, `ruc=${secondRuc}&cursor=${first.meta.cursor}`);
  const bounded = await read(by, `ruc=${secondRuc}&hasta=2026-11-26&cursor=${first.meta.cursor}`);
  expect([narrow.data, bounded.data]).toEqual([[], []]);
  // Whoever asks for later days next must not miss the events that `hasta` left out.
  expect(bounded.meta.cursor).toBe(first.meta.cursor);
  await removeExpired(around.pool, defaultRetentionRule);
  await write(by, list, 3, [secondRuc], new Date('2026-11-26T12:00:00Z'));
  await expectProblem(await by.request(`${path}?cursor=${first.meta.cursor}`), 'cursor_vencido');
  const onward = await read(by, `ruc=${secondRuc}&cursor=${narrow.meta.cursor}`);
  expect(onward.data.map((event) => event.posicion)).toEqual([3]);
});

test('a cursor before what the retention removed gets 410 with the oldest cursor that still shows everything', async () => {
  const by = await makeCaller(around.pool, around.api.url);
  const list = await makeList(by);
  const old = new Date('2025-01-10T12:00:00Z');
  await write(by, list, 1, [firstRuc, secondRuc], old);
  await write(by, list, 2, [firstRuc], new Date('2026-11-26T12:00:00Z'));
  const first = await read(by, 'limite=1');
  expect(first.data.map((event) => event.posicion)).toEqual([1]);
  await removeExpired(around.pool, defaultRetentionRule);

  const response = await by.request(`${path}?cursor=${first.meta.cursor}`);
  const problem = await expectProblem(response, 'cursor_vencido');
  const onward = await read(by, `cursor=${problem.cursor}`);
  expect(onward.data.map((event) => event.posicion)).toEqual([3]);
  // Without a cursor nothing was missed: the page starts with the oldest stored event.
  const anew = await read(by, '');
  expect(anew.data.map((event) => event.posicion)).toEqual([3]);
  expect((await read(by, `cursor=${anew.meta.cursor}`)).data).toEqual([]);
  const stream = await by.request(`${path}/stream`, { headers: { 'last-event-id': '1' } });
  expect((await expectProblem(stream, 'cursor_vencido')).cursor).toBe(problem.cursor);
});
