import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { makeIdentify, makeIdentifyReader } from '../../../api/accounts/callers.ts';
import { shippedCalendar } from '../../../api/calendar/data/shipped.ts';
import { type Addition, makeCalendarSource } from '../../../api/calendar/store.ts';
import { makeKoaApp } from '../../../api/koa-app.ts';
import { Meter } from '../../../api/metering/meter.ts';
import type { MinuteLimits } from '../../../api/metering/minute-limits.ts';
import { makeRouter } from '../../../api/router.ts';
import { makeCalendarHandlers } from '../../../api/routes/calendar.ts';
import { makePool } from '../../../pipelines/runtime/postgres.ts';

export const sandboxToken = 'pad_sandbox_publico';
/** A well-formed token that belongs to no account. */
export const strangerToken = `pad_live_${'0a'.repeat(8)}_${'1b'.repeat(24)}`;

export interface CalendarApp {
  url: string;
  /** Takes effect at the next request. */
  setNow(at: string): void;
  /** What operators have added. Takes effect a moment later. */
  additions: Addition[];
  logLines(): string;
  stop(): Promise<void>;
}

/**
 * Serves the calendar's operations with a settable clock and without engines: PostgreSQL's address is a closed port.
 */
export async function startCalendarApp(): Promise<CalendarApp> {
  let now = new Date('2026-11-27T15:00:00Z');
  const lines: string[] = [];
  const log = pino({}, { write: (line) => lines.push(line) });
  const pool = makePool('postgres://padron@127.0.0.1:1/padron', 'test', 1);
  const additions: Addition[] = [];
  const limits = { pollMs: 10, startWaitMs: 1_000 };
  const source = makeCalendarSource(
    shippedCalendar,
    async () => additions,
    limits,
    log,
    () => now,
  );
  await source.start();
  const identify = makeIdentify(pool, sandboxToken);
  const metrics = new Registry();
  const router = makeRouter(makeCalendarHandlers({ calendar: source.current, now: () => now }), {
    identify,
    identifyReader: makeIdentifyReader(identify),
    pool,
    sandboxToken,
    meter: new Meter(pool, metrics, log),
  });
  const app = makeKoaApp(router, {
    log,
    requestLog: log,
    metrics,
    baseUrl: '',
    proxyHops: 0,
    minuteLimits: unlimited,
  });
  const server = createServer(app.callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    setNow: (at) => {
      now = new Date(at);
    },
    additions,
    logLines: () => lines.join(''),
    async stop() {
      source.stop();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await pool.end();
    },
  };
}

/** The suites send more requests in a minute than one address may. */
export const unlimited: MinuteLimits = {
  count: async ({ limit }) => ({ isWithin: true, limit, remaining: limit, endsAtMs: Date.now() + 60_000 }),
};
