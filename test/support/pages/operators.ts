import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { makeOperatorApp } from '../../../api/operator-console.ts';
import type { Order } from '../../../api/operators/decisions.ts';
import { makeLink, type OperatorRole } from '../../../api/operators/operators.ts';
import type { OperatorPageDependencies } from '../../../api/pages/operator/table.ts';
import type { Pool } from '../../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../../schemas/registers.ts';
import { unlimited } from '../api/calendar-app.ts';
import type { Site } from './site.ts';
import { Visitor } from './visitor.ts';

export interface OperatorSite extends Site {
  /** The registers whose workflow was woken, in order. */
  woken: RegisterName[];
  /** The webhooks whose workflow was woken. */
  wokenWebhooks: string[];
  orders: Order[];
}

/** Serves the operators' console. */
export async function startOperatorSite(
  given: Partial<OperatorPageDependencies> & { pool: Pool },
): Promise<OperatorSite> {
  const lines: string[] = [];
  const woken: RegisterName[] = [];
  const wokenWebhooks: string[] = [];
  const orders: Order[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => lines.push(line) });
  const app = makeOperatorApp({
    log,
    requestLog: log,
    metrics: new Registry(),
    baseUrl: '',
    minuteLimits: unlimited,
    site: { baseUrl: '', proxyHops: 0 },
    now: () => new Date(),
    archive: null,
    ...{ lines: null, provider: null },
    lastKnownRows: async () => new Map(),
    wakePublish: async (register) => void woken.push(register),
    wake: async (webhook) => void wokenWebhooks.push(webhook),
    giveOrder: async (order) => {
      orders.push(order);
      return 'started';
    },
    ...given,
  });
  const server = createServer(app.callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    logLines: () => lines.join(''),
    ...{ woken, wokenWebhooks, orders },
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Returns the path of a new link for an operator. */
export async function linkFor(pool: Pool, name: string, role: OperatorRole): Promise<string> {
  const { secret } = await makeLink(pool, { name: 'prueba', way: 'command' }, { name, role, minutes: 15 });
  return `/enlace/${secret}`;
}

/** An operator who came in by a link, without a browser. */
export async function operatorVisitor(
  pool: Pool,
  url: string,
  role: OperatorRole = 'decider',
  name = 'Ana Ruiz',
): Promise<Visitor> {
  const link = await linkFor(pool, name, role);
  const visitor = new Visitor(url);
  await visitor.get(link);
  await visitor.post(link, { form: 'entrar' });
  await visitor.get('/registros');
  return visitor;
}
