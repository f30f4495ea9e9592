import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { makeIdentifyReader } from '../../api/accounts/calendar-callers.ts';
import { makeIdentify } from '../../api/accounts/callers.ts';
import { makeApp } from '../../api/app.ts';
import { shippedCalendar } from '../../api/calendar/data/shipped.ts';
import type { Addition } from '../../api/calendar/store.ts';
import { makeCalendarSource } from '../../api/calendar/store-current.ts';
import { makeCatalogue } from '../../api/catalogue.ts';
import { makeTaxpayers } from '../../api/queries/taxpayers.ts';
import { makeClickhouse } from '../../deploy/runtime/clickhouse.ts';
import { makePool } from '../../deploy/runtime/postgres.ts';

export const sandboxToken = 'pad_sandbox_publico';
/** A token as it should be, of no account. */
export const strangerToken = `pad_live_${'0a'.repeat(8)}_${'1b'.repeat(24)}`;

export interface CalendarApp {
  url: string;
  /** Takes effect with the next request. */
  setNow(at: string): void;
  /** What operators have added; takes effect a moment later. */
  additions: Addition[];
  logLines(): string;
  stop(): Promise<void>;
}

/** The app on a port of its own with a clock of its own, and no engine: PostgreSQL's address is a closed port. */
export async function startCalendarApp(): Promise<CalendarApp> {
  let now = new Date('2026-11-27T15:00:00Z');
  const lines: string[] = [];
  const log = pino({}, { write: (line) => lines.push(line) });
  const pool = makePool('postgres://padron@127.0.0.1:1/padron', 'test', 1);
  const identify = makeIdentify(pool, sandboxToken);
  const additions: Addition[] = [];
  const source = makeCalendarSource(shippedCalendar, async () => additions, { pollMs: 10, startWaitMs: 1_000 }, log);
  await source.start();
  const clickhouse = makeClickhouse('http://127.0.0.1:1/padron', 'test', { requestTimeoutMs: 1_000, connections: 1 });
  const app = makeApp({
    ...{ log, requestLog: log, metrics: new Registry(), baseUrl: '', pool, identify },
    catalogue: makeCatalogue(pool),
    taxpayers: makeTaxpayers(clickhouse, { waitMs: 0, maxKeys: 1, inFlight: 1 }),
    ...{ findRecord: unused, recordAnswer: unused, checkTarget: unused, sealSecret: unused, wake: unused },
    makeSecret: unused,
    identifyReader: makeIdentifyReader(identify),
    calendar: source.current,
    sandboxToken,
    now: () => now,
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
      await Promise.all([pool.end(), clickhouse.close()]);
    },
  };
}

function unused(): never {
  throw new Error('the calendar asks for nothing else');
}
