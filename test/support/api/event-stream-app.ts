import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { inject } from 'vitest';
import { makeIdentify, makeIdentifyReader } from '../../../api/accounts/callers.ts';
import { makeCatalogue } from '../../../api/catalogue.ts';
import { defaultStreamLimits, EventStreams } from '../../../api/event-stream/streams.ts';
import { makeKoaApp } from '../../../api/koa-app.ts';
import { Meter } from '../../../api/metering/meter.ts';
import { makeRouter } from '../../../api/router.ts';
import { makeEventHandlers } from '../../../api/routes/events.ts';
import { Notifications } from '../../../pipelines/runtime/notifications.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { eventChannel } from '../../../pipelines/watch/events.ts';
import { migratedDatabase } from '../engines/isolation.ts';
import { makeTcpProxy, type TcpProxy } from '../engines/tcp-proxy.ts';
import { silentLog } from '../watch/harness.ts';
import { sandboxToken, unlimited } from './calendar-app.ts';

export interface EventStreamApp {
  pool: Pool;
  /** The connection of all clients. Their URLs begin with its address. */
  line: TcpProxy;
  /** `Last-Event-ID` of every request so far; null where it was missing. */
  asked: (string | null)[];
  /** The texts that were sent so far, on all streams. */
  sent: string[];
  /** Sends the first `length` characters of the next text that fits, and then breaks its connection. */
  cutWithin(text: RegExp, length: (text: string) => number): void;
  stop(): Promise<void>;
}

/** Serves the operations of events with short waits: a block without data every 150 ms, and reconnects after 20 ms. */
export async function startEventStreamApp(): Promise<EventStreamApp> {
  const database = await migratedDatabase(inject('endpoints'));
  const pool = makePool(database.DATABASE_URL, 'test', 8);
  const notifications = new Notifications(pool, [eventChannel], silentLog);
  notifications.start();
  const streams = new EventStreams(pool, notifications, silentLog, {
    ...defaultStreamLimits,
    commentMs: 150,
    retryMs: 20,
  });
  streams.start();
  const identify = makeIdentify(pool, sandboxToken);
  const metrics = new Registry();
  const access = { identify, identifyReader: makeIdentifyReader(identify), pool, sandboxToken };
  const handlers = makeEventHandlers({ catalogue: makeCatalogue(pool), pool, streams });
  const router = makeRouter(handlers, { ...access, meter: new Meter(pool, metrics, silentLog) });
  const common = { log: silentLog, requestLog: silentLog, metrics, baseUrl: '', proxyHops: 0 };
  const answer = makeKoaApp(router, { ...common, minuteLimits: unlimited }).callback();

  const asked: EventStreamApp['asked'] = [];
  const sent: string[] = [];
  const cuts: { text: RegExp; length: (text: string) => number }[] = [];
  const server = createServer((request, response) => {
    asked.push((request.headers['last-event-id'] as string | undefined) ?? null);
    cutWrites(response, (text) => {
      sent.push(text);
      const next = cuts[0];
      if (next === undefined || !next.text.test(text)) return null;
      cuts.shift();
      return next.length(text);
    });
    void answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const line = await makeTcpProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return {
    pool,
    line,
    asked,
    sent,
    cutWithin: (text, length) => void cuts.push({ text, length }),
    async stop() {
      await streams.stop();
      await line.stop();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await notifications.stop();
      await pool.end();
      await database.drop();
    },
  };
}

/** @param lengthOf how much of a text is sent before its connection breaks; null if all of it is sent */
function cutWrites(response: ServerResponse, lengthOf: (text: string) => number | null): void {
  const write = response.write.bind(response) as (chunk: unknown, sent?: () => void) => boolean;
  let isCut = false;
  response.write = ((chunk: unknown) => {
    if (isCut) return false;
    const length = lengthOf(String(chunk));
    if (length === null) return write(chunk);
    isCut = true;
    return write(String(chunk).slice(0, length), () => response.socket?.destroy());
  }) as ServerResponse['write'];
}
