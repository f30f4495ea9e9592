import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type FeedSource, feed } from '../../../../api/event-stream/feed.ts';
import { Notifier } from '../../../../workflows/delivery/in-flight.ts';

const limits = { pageRows: 3, commentMs: 15_000, retryMs: 1_000 };
const event = (position: number) => ({ position, payload: `{"posicion":${position}}` });
const shown = (position: number) => `data: {"posicion":${position}}\nid: ${position}\n\n`;

/** A history in memory: `passes` says which positions the filter lets through. */
function makeHistory(passes: (position: number) => boolean = () => true) {
  const asked: number[] = [];
  const history = { last: 0, removedThrough: 0 };
  const source: FeedSource = {
    lastPosition: async () => history.last,
    read: async (after, limit) => {
      asked.push(after);
      const all = Array.from({ length: history.last }, (_, index) => index + 1);
      const kept = all.filter((position) => position > after && position > history.removedThrough && passes(position));
      return kept.slice(0, limit).map(event);
    },
    isKept: async (after) => after >= history.removedThrough,
  };
  return { history, source, asked };
}

function open(source: FeedSource, start: number) {
  const notifier = new Notifier();
  const stop = new AbortController();
  const texts = feed(source, start, { notifier, signal: stop.signal, limits });
  const next = async () => (await texts.next()).value;
  const end = () => {
    stop.abort();
    notifier.notify();
  };
  return { notifier, next, end };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('feed', () => {
  test('opens at once, then shows the events after the start page by page, and later those of each notification', async () => {
    const { history, source, asked } = makeHistory();
    history.last = 5;
    const { notifier, next, end } = open(source, 1);
    expect(await next()).toBe('retry: 1000\n: conectado\nid: 1\n\n');
    for (const position of [2, 3, 4, 5]) expect(await next()).toBe(shown(position));
    const later = next();
    await vi.advanceTimersByTimeAsync(1_000);
    history.last = 6;
    notifier.notify();
    expect(await later).toBe(shown(6));
    expect(asked).toEqual([1, 4, 5]);
    end();
    expect(await next()).toBeUndefined();
  });

  test('nothing is read while the last text waits to be taken', async () => {
    const { history, source, asked } = makeHistory();
    history.last = 100;
    const { notifier, next } = open(source, 0);
    await next();
    await next();
    for (let count = 0; count < 10; count += 1) notifier.notify();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toEqual([0]);
  });

  test('after 15 s without an event it yields a comment with the position, and another after 15 more', async () => {
    const { source } = makeHistory();
    const { next } = open(source, 0);
    await next();
    for (let comment = 0; comment < 2; comment += 1) {
      let said: unknown;
      const silence = next().then((text) => {
        said = text;
      });
      await vi.advanceTimersByTimeAsync(14_900);
      expect(said).toBeUndefined();
      await vi.advanceTimersByTimeAsync(200);
      await silence;
      expect(said).toBe(': sigue abierto\nid: 0\n\n');
    }
  });

  test('events that the filter skips are read once', async () => {
    const { history, source, asked } = makeHistory((position) => position > 1_000);
    history.last = 1_000;
    const { notifier, next } = open(source, 0);
    await next();
    const first = next();
    await vi.advanceTimersByTimeAsync(10);
    history.last = 1_001;
    notifier.notify();
    expect(await first).toBe(shown(1_001));
    expect(asked).toEqual([0, 1_000]);
  });

  test('it ends where events that it did not show have been removed, so no gap stays hidden', async () => {
    const { history, source } = makeHistory();
    history.last = 9;
    history.removedThrough = 4;
    const { next } = open(source, 2);
    await next();
    expect(await next()).toBeUndefined();
  });

  test('with a filter that lets nothing pass, the position that was searched comes every 15 s', async () => {
    const { history, source } = makeHistory(() => false);
    const { notifier, next } = open(source, 0);
    await next();
    const comment = next();
    for (let second = 0; second < 16; second += 1) {
      history.last += 1;
      notifier.notify();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(await comment).toBe(': sigue abierto\nid: 15\n\n');
  });
});
