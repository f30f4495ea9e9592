import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import type { Dispatcher } from 'undici';
import type { Endpoints } from '../../deploy/local/config.ts';
import { type Authority, makeAuthority } from '../../deploy/local/demo/receiver.ts';
import { makeEgressDispatcher } from '../../pipelines/runtime/egress/dispatcher.ts';
import { makeDeliveryMetrics } from '../../workflows/delivery/metrics.ts';
import { Round, type RoundDependencies } from '../../workflows/delivery/round.ts';
import { type DeliverySettings, defaultDeliverySettings } from '../../workflows/delivery/worker.ts';
import { quickSettings } from './delivery-settings.ts';
import { batchOf, change, makeWatchBench, row, silentLog, type WatchBench } from './watch-bench.ts';

/** Single rounds of a webhook, as a worker's activity runs them, without Temporal: for what happens within one. */
export interface RoundBench extends WatchBench {
  authority: Authority;
  /** An account that alone watches the companies, and a webhook of it. */
  scene: (url: string, rucs: readonly string[], rate?: number) => Promise<RoundScene>;
}

export interface RoundScene {
  account: number;
  webhook: string;
  announce: (ruc: string) => Promise<void>;
  round: (settings?: Partial<DeliverySettings>, overrides?: Partial<RoundDependencies>) => ReturnType<Round['run']>;
  /** Rounds until nothing is due, as the workflow calls them. */
  work: (settings?: Partial<DeliverySettings>) => Promise<void>;
  deliveries: () => Promise<{ estado: string; intentos: number }[]>;
  standing: () => Promise<{ estado: string; pausado_por: string | null; failures: number }>;
}

export async function makeRoundBench(endpoints: Endpoints): Promise<RoundBench> {
  const bench = await makeWatchBench(endpoints);
  const authority = await makeAuthority('Test authority');
  const policy = { allowPrivateTargets: true, extraCaPem: authority.caPem };
  const dispatcher = makeEgressDispatcher(policy, defaultDeliverySettings.egress);
  let edition = 0;
  const scene = async (url: string, rucs: readonly string[], rate = 200): Promise<RoundScene> => {
    await bench.pool.query('UPDATE watch_list SET deleted_at = now() WHERE deleted_at IS NULL');
    const account = await bench.account();
    await bench.list(account, 'Proveedores', rucs);
    const { id, secret } = await bench.webhook(account, url, { rate });
    const rowOf = async (sql: string) => (await bench.pool.query(sql, [id])).rows;
    const round: RoundScene['round'] = (settings, overrides) =>
      new Round(
        { ...dependenciesOf(bench, dispatcher, policy, secret, settings), ...overrides },
        { webhookId: id },
        new AbortController().signal,
      ).run();
    return {
      account,
      webhook: id,
      announce: async (ruc) => {
        edition += 1;
        const at = new Date('2026-11-27T09:20:31.250Z');
        await bench.edition(edition, '2026-11-26', at);
        const after = row({ estado: 'SUSPENSION TEMPORAL' });
        await bench.handler()(batchOf([change(edition, ruc, at, { after })]));
      },
      round,
      work: async (settings) => {
        for (let next = await round(settings); next.nextInMs !== null; next = await round(settings)) {
          await sleep(next.nextInMs);
        }
      },
      deliveries: () => rowOf('SELECT estado, intentos FROM delivery WHERE webhook_id = $1 ORDER BY position'),
      standing: async () =>
        (await rowOf('SELECT estado, pausado_por, fallos_consecutivos AS failures FROM webhook WHERE id = $1'))[0],
    };
  };
  return {
    ...bench,
    authority,
    scene,
    close: async () => {
      await dispatcher.destroy();
      await bench.close();
    },
  };
}

function dependenciesOf(
  { pool }: WatchBench,
  dispatcher: Dispatcher,
  policy: RoundDependencies['attempt']['policy'],
  secret: string,
  overrides: Partial<DeliverySettings> = {},
): RoundDependencies {
  const { exchange, schedule, health, round } = { ...defaultDeliverySettings, ...quickSettings, ...overrides };
  return {
    pool,
    news: { listen: () => () => {} },
    attempt: { dispatcher, policy, limits: exchange, schedule, version: '0.0.0-test' },
    openSecrets: () => [secret],
    rule: health,
    limits: round,
    log: silentLog,
    metrics: makeDeliveryMetrics(new Registry()),
  };
}
