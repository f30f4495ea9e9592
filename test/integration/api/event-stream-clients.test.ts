import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { defaultRetentionRule, removeExpired } from '../../../pipelines/webhooks/retention.ts';
import { clients, type FollowingClient } from '../../support/api/event-source-clients.ts';
import { type EventStreamApp, startEventStreamApp } from '../../support/api/event-stream-app.ts';
import { makeCaller, type TestCaller } from '../../support/api/process.ts';
import { insertList, writeChanges } from '../../support/watch/events.ts';

// Programs of customers follow the stream over cuts. Every event is shown once, and no position that the stream gave is
// refused later.

const rucs = Array.from({ length: 5 }, (_, index) => `2000000000${index}`);
const at = new Date('2026-11-26T12:00:00Z');
/** So long ago that the retention removes its events. */
const longAgo = new Date('2025-01-10T12:00:00Z');

let app: EventStreamApp;
const open: FollowingClient[] = [];

beforeAll(async () => {
  const { setTimeout, clearTimeout } = globalThis;
  vi.stubGlobal('window', { setTimeout, clearTimeout });
  vi.stubGlobal('document', { removeEventListener() {} });
  app = await startEventStreamApp();
});
afterEach(() => {
  for (const client of open.splice(0)) client.close();
});
afterAll(async () => {
  await app?.stop();
  vi.unstubAllGlobals();
});

async function makeWatcher(): Promise<{
  by: TestCaller;
  write: (edition: number, rucs: string[], at: Date) => Promise<void>;
}> {
  const by = await makeCaller(app.pool, app.line.url);
  const list = await insertList(app.pool, by);
  return {
    by,
    write: (edition, changed, detectedAt) => writeChanges(app.pool, by, { list, edition, rucs: changed, detectedAt }),
  };
}

/** Waits until a stream has sent a block without data that ends with the position, and its client has read the block. */
async function untilGiven(position: number, from: number): Promise<void> {
  const isGiven = (text: string) => text.includes('\n: ') && text.endsWith(`\nid: ${position}\n\n`);
  const isSent = () => app.sent.slice(from).some((text) => isGiven(`\n${text}`));
  await expect.poll(isSent, { timeout: 10_000 }).toBe(true);
  await sleep(200);
}

describe.each(clients)('%s', (_, follow) => {
  const start = ({ token }: TestCaller, query = '') => {
    const client = follow(new URL(`/id/v1/watch/eventos/stream${query}`, app.line.url).href, token);
    open.push(client);
    return client;
  };
  const shows = (client: FollowingClient, positions: readonly number[]) =>
    expect.poll(() => client.positions, { timeout: 10_000 }).toEqual(positions);

  test('cut before its first event, it gets those that came meanwhile, once', async () => {
    const { by, write } = await makeWatcher();
    await write(1, rucs, at);
    const [requests, texts] = [app.asked.length, app.sent.length];
    const client = start(by);
    await untilGiven(5, texts);
    await app.line.cut();
    await write(2, rucs, at);
    await app.line.mend();
    await shows(client, [6, 7, 8, 9, 10]);
    expect(app.asked[requests]).toBeNull();
    expect(app.asked.at(-1)).toBe('5');
    await write(3, rucs.slice(0, 1), at);
    await shows(client, [6, 7, 8, 9, 10, 11]);
  });

  test('an account without events has a position too', async () => {
    const { by, write } = await makeWatcher();
    const texts = app.sent.length;
    const client = start(by);
    await untilGiven(0, texts);
    await app.line.cut();
    await write(1, rucs, at);
    await app.line.mend();
    await shows(client, [1, 2, 3, 4, 5]);
    expect(app.asked.at(-1)).toBe('0');
  });

  test('cut within an event, after its data and within its id, it shows each event once', async () => {
    const { by, write } = await makeWatcher();
    const [requests, texts] = [app.asked.length, app.sent.length];
    const client = start(by);
    await untilGiven(0, texts);
    app.cutWithin(/"posicion":2,/, (text) => text.length / 2);
    app.cutWithin(/"posicion":4,/, (text) => text.indexOf('\n') + 1);
    app.cutWithin(/"posicion":12,/, (text) => text.indexOf('\nid: 1') + '\nid: 1'.length);
    for (let edition = 1; edition <= 3; edition += 1) await write(edition, rucs, at);
    await shows(
      client,
      Array.from({ length: 15 }, (_each, index) => index + 1),
    );
    expect(app.asked.slice(requests)).toEqual([null, '1', '3', '11']);
  });

  test('a filter that lets nothing pass for as long as events are kept is resumed without 410', async () => {
    const { by, write } = await makeWatcher();
    const texts = app.sent.length;
    const client = start(by, '?ruc=20131312955');
    await untilGiven(0, texts);
    await write(1, ['20131312955'], longAgo);
    await shows(client, [1]);
    await write(2, rucs, longAgo);
    await untilGiven(6, texts);
    await app.line.cut();
    const { days } = await removeExpired(app.pool, defaultRetentionRule);
    expect(days).toEqual(['2025-01-10']);
    await app.line.mend();
    await write(3, ['20131312955'], at);
    await shows(client, [1, 7]);
    expect(app.asked.at(-1)).toBe('6');
  });
});
