import { expect, test } from 'vitest';
import { Slots } from '../../../../../deploy/local/clickhouse/connections.ts';

const stays = new AbortController().signal;

test('so many at once, the others in their order', async () => {
  const slots = new Slots('reads', 2, { maxWaiting: 10, maxWaitMs: 60_000 });
  const order: number[] = [];
  let inside = 0;
  let most = 0;
  const work = async (at: number) => {
    await slots.enter(stays);
    inside += 1;
    most = Math.max(most, inside);
    order.push(at);
    await new Promise(setImmediate);
    inside -= 1;
    slots.leave();
  };
  await Promise.all(Array.from({ length: 8 }, (_, at) => work(at)));
  expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect({ most, taken: slots.taken }).toEqual({ most: 2, taken: 0 });
});

test('too many waiting, and too long a wait', async () => {
  const slots = new Slots('reads', 1, { maxWaiting: 1, maxWaitMs: 30 });
  await slots.enter(stays);
  const second = slots.enter(stays);
  await expect(slots.enter(stays)).rejects.toMatchObject({ code: 202 });
  await expect(second).rejects.toMatchObject({ code: 202 });
  slots.leave();
  expect(slots.taken).toBe(0);
});

test('a caller who goes away leaves the queue', async () => {
  const slots = new Slots('reads', 1, { maxWaiting: 10, maxWaitMs: 60_000 });
  await slots.enter(stays);
  const gone = new AbortController();
  const waiting = slots.enter(gone.signal);
  const next = slots.enter(stays);
  gone.abort();
  await expect(waiting).rejects.toMatchObject({ code: 735 });
  slots.leave();
  await next;
  slots.leave();
  expect(slots.taken).toBe(0);
  await expect(slots.enter(gone.signal)).rejects.toMatchObject({ code: 735 });
});
