import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventPayload } from '../../../schemas/http/events.ts';
import { type EventStreamClient, openEventStream } from '../../support/api/event-stream-client.ts';
import { expectProblem, makeCaller, requestsOf, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { insertList, writeChanges } from '../../support/watch/events.ts';

const path = '/id/v1/watch/eventos/stream';
const rucs = Array.from({ length: 5 }, (_, index) => `2000000000${index}`);
const at = new Date('2026-11-26T12:00:00Z');

let around: Surroundings;

beforeAll(async () => {
  around = await startSurroundings();
});
afterAll(() => around.stop());

async function makeWatcher(): Promise<{ by: TestCaller; list: number }> {
  const by = await makeCaller(around.pool, around.api.url);
  return { by, list: await insertList(around.pool, by) };
}

const positions = (stream: EventStreamClient) => stream.events.map(({ id }) => Number(id));

test('a stream starts now and shows an event at its commit, not with the next keep-alive: the signed text, with its position as id', async () => {
  const { by, list } = await makeWatcher();
  await writeChanges(around.pool, by, { list, edition: 1, rucs, detectedAt: at });
  const stream = await openEventStream(by, path);
  expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(stream.response.headers.get('cache-control')).toBe('no-store');
  await writeChanges(around.pool, by, { list, edition: 2, rucs: [rucs[0]!], detectedAt: at });
  const committedAt = performance.now();
  await stream.until(1);
  expect(performance.now() - committedAt).toBeLessThan(10_000);
  const { rows } = await around.pool.query('SELECT payload FROM event WHERE account_id = $1 AND position = 6', [
    by.accountId,
  ]);
  expect(stream.events).toEqual([{ id: '6', data: rows[0].payload }]);
  eventPayload.parse(JSON.parse(stream.events[0]!.data));
  expect(stream.text).toContain(': conectado\nid: 5\n\n');
  stream.close();
});

test('cut a hundred times while three writers commit, it continues by Last-Event-ID without gap or repeat', async () => {
  const { by } = await makeWatcher();
  const lists = await Promise.all([1, 2, 3].map(() => insertList(around.pool, by)));
  let cuts = 0;
  const writing = Promise.all(
    lists.map(async (list) => {
      for (let edition = 1; cuts < 100; edition += 1) {
        await writeChanges(around.pool, by, { list, edition, rucs, detectedAt: at });
        await sleep(10);
      }
    }),
  );
  const seen: number[] = [];
  const follow = async (events: number) => {
    const stream = await openEventStream(by, path, { lastEventId: String(seen.at(-1) ?? 0) });
    await stream.until(events);
    // Cut in the middle of whatever is being sent. An event that did not arrive whole does not count.
    stream.close();
    seen.push(...positions(stream));
  };
  for (; cuts < 100; cuts += 1) await follow(1 + (cuts % 9));
  await writing;
  const { rows } = await around.pool.query('SELECT count(*) FROM event WHERE account_id = $1', [by.accountId]);
  const total: number = rows[0].count;
  if (seen.length < total) await follow(total - seen.length);
  expect(seen).toEqual(Array.from({ length: total }, (_, index) => index + 1));
});

test('the filters are those of the history', async () => {
  const { by, list } = await makeWatcher();
  const stream = await openEventStream(by, `${path}?ruc=20131312955`);
  await writeChanges(around.pool, by, {
    list,
    edition: 1,
    rucs: [...rucs, '20131312955', '20990000019'],
    detectedAt: at,
  });
  await stream.until(1);
  expect(positions(stream)).toEqual([6]);
  stream.close();
  await expectProblem(await by.request(`${path}?limite=3`), 'parametro_desconocido');
  await expectProblem(await by.request(`${path}?evento=ruc.otro`), 'parametro_invalido');
  for (const id of ['siete', '999999'])
    await expectProblem(await by.request(path, { headers: { 'last-event-id': id } }), 'parametro_invalido');
  await expectProblem(await by.request(path, { method: 'HEAD' }).then(bodyOfGet(by)), 'metodo_no_permitido');
});

/** A HEAD has no body to check, so another refused method is checked instead. */
const bodyOfGet = (by: TestCaller) => (head: Response) => {
  expect(head.status).toBe(405);
  return by.request(path, { method: 'POST' });
};

test('five per account; a closed stream makes room, and so does one whose process died', async () => {
  const { by } = await makeWatcher();
  const other = await makeCaller(around.pool, around.api.url);
  const streams = await Promise.all(Array.from({ length: 5 }, () => openEventStream(by, path)));
  const refused = await by.request(path);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_500);
  await expectProblem(refused, 'demasiados_flujos');
  const foreign = await openEventStream(other, path);
  streams[0]!.close();
  await expect.poll(async () => (await countSeats(by)) < 5, { timeout: 3_000 }).toBe(true);
  const again = await openEventStream(by, path);
  await around.pool.query(
    `INSERT INTO event_stream (id, account_id, lease_until) SELECT 'dead-' || n, $1, now() - interval '1 second'
     FROM generate_series(1, 5) n`,
    [other.accountId],
  );
  const second = await openEventStream(other, path);
  for (const stream of [...streams, foreign, again, second]) stream.close();
  await expect.poll(() => countSeats(by), { timeout: 3_000 }).toBe(0);
});

async function countSeats({ accountId }: TestCaller): Promise<number> {
  const { rows } = await around.pool.query('SELECT count(*) FROM event_stream WHERE account_id = $1', [accountId]);
  return rows[0].count;
}

test.each([
  ['a revoked token', 'UPDATE token SET revoked_at = now() WHERE account_id = $1'],
  ['a lower plan', "UPDATE account SET plan = 'micro' WHERE id = $1"],
])('%s ends its streams within 5 s, also one that nobody reads', async (_, sql) => {
  const { by, list } = await makeWatcher();
  const reading = await openEventStream(by, path);
  const stuck = await openEventStream(by, path, { reads: false });
  await writeChanges(around.pool, by, { list, edition: 1, rucs, detectedAt: at });
  await reading.until(rucs.length);
  await around.pool.query(sql, [by.accountId]);
  const before = performance.now();
  await reading.ended;
  expect(performance.now() - before).toBeLessThan(5_000);
  await expect.poll(() => countSeats(by), { timeout: 5_000 - (performance.now() - before) }).toBe(0);
  stuck.close();
});

test('plan and token are checked as everywhere; without PostgreSQL it ends, and it can be continued afterwards', async () => {
  const { by, list } = await makeWatcher();
  const micro = await makeCaller(around.pool, around.api.url, { plan: 'micro' });
  await expectProblem(await micro.request(path), 'plan_insuficiente');
  await expectProblem(await requestsOf(around.api.url, null)(path), 'sin_token');
  const stream = await openEventStream(by, path);
  await around.postgresLine.cut();
  await stream.ended;
  await around.postgresLine.mend();
  await writeChanges(around.pool, by, { list, edition: 1, rucs, detectedAt: at });
  const onward = await openEventStream(by, path, { lastEventId: '0' });
  await onward.until(rucs.length);
  expect(positions(onward)).toEqual([1, 2, 3, 4, 5]);
  onward.close();
});
