import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { makeIdentify, makeIdentifyReader } from '../../../api/accounts/callers.ts';
import { makeApp } from '../../../api/app.ts';
import { shippedCalendar } from '../../../api/calendar/data/shipped.ts';
import { makeCalendarSource } from '../../../api/calendar/store.ts';
import { makeCatalogue } from '../../../api/catalogue.ts';
import type { ApiDependencies } from '../../../api/dependencies.ts';
import { Meter } from '../../../api/metering/meter.ts';
import { makeReadStatus } from '../../../api/queries/register-status.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { sandboxToken, unlimited } from '../api/calendar-app.ts';

export interface Site {
  url: string;
  /** All that was logged so far. */
  logLines(): string;
  stop(): Promise<void>;
}

/**
 * Serves the whole app with what pages need: the calendar, and PostgreSQL if a pool is given. Operations that read
 * registers fail.
 */
export async function startSite(given: Partial<ApiDependencies> & { pool?: Pool } = {}): Promise<Site> {
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => lines.push(line) });
  // Nothing answers on this port.
  const pool = given.pool ?? makePool('postgres://padron@127.0.0.1:1/padron', 'test', 1);
  const metrics = new Registry();
  const source = makeCalendarSource(shippedCalendar, async () => [], { pollMs: 60_000, startWaitMs: 1_000 }, log);
  await source.start();
  const identify = makeIdentify(pool, sandboxToken);
  const dependencies: Partial<ApiDependencies> = {
    log,
    requestLog: log,
    metrics,
    baseUrl: '',
    proxyHops: 0,
    sandboxToken,
    now: () => new Date(),
    pool,
    identify,
    identifyReader: makeIdentifyReader(identify),
    minuteLimits: unlimited,
    meter: new Meter(pool, metrics, log),
    calendar: source.current,
    catalogue: makeCatalogue(pool),
    readStatus: makeReadStatus(pool, given.now ?? (() => new Date())),
    ...given,
  };
  const server = createServer(makeApp(dependencies as ApiDependencies).callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    logLines: () => lines.join(''),
    async stop() {
      await source.stop();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      if (given.pool === undefined) await pool.end();
    },
  };
}
