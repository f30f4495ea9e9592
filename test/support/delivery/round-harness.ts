import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import type { Dispatcher } from 'undici';
import type { Endpoints } from '../../../deploy/local/config.ts';
import { makeEgressDispatcher } from '../../../pipelines/runtime/egress/dispatcher.ts';
import { makeDeliveryMetrics } from '../../../workflows/delivery/metrics.ts';
import { Round, type RoundDependencies } from '../../../workflows/delivery/round.ts';
import { type DeliverySettings, defaultDeliverySettings } from '../../../workflows/delivery/worker.ts';
import { batchOf, change, makeWatchHarness, row, silentLog, type WatchHarness } from '../watch/harness.ts';
import { type Authority, makeAuthority } from './authority.ts';
import { quickSettings } from './settings.ts';

/** Runs single rounds of a webhook as the worker's activity does, without Temporal, to test what happens within one. */
export interface RoundHarness extends WatchHarness {
  authority: Authority;
  /** Creates the only account that watches these companies, with one webhook. */
  scene: (url: string, rucs: readonly string[], rate?: number) => Promise<RoundScene>;
}

export interface RoundScene {
  account: number;
  webhook: string;
  announce: (ruc: string) => Promise<void>;
  round: (settings?: Partial<DeliverySettings>, overrides?: Partial<RoundDependencies>) => ReturnType<Round['run']>;
  /** Runs rounds until nothing is due, as the workflow does. */
  work: (settings?: Partial<DeliverySettings>) => Promise<void>;
  deliveries: () => Promise<{ estado: string; intentos: number }[]>;
  standing: () => Promise<{ estado: string; pausado_por: string | null; failures: number }>;
}

export async function makeRoundHarness(endpoints: Endpoints): Promise<RoundHarness> {
  const harness = await makeWatchHarness(endpoints);
  const authority = await makeAuthority('Test authority');
  const policy = { allowPrivateTargets: true, extraCaPem: authority.caPem };
  const dispatcher = makeEgressDispatcher(policy, defaultDeliverySettings.egress);
  let edition = 0;
  const scene = async (url: string, rucs: readonly string[], rate = 200): Promise<RoundScene> => {
    await harness.pool.query('UPDATE watch_list SET deleted_at = now() WHERE deleted_at IS NULL');
    const account = await harness.account();
    await harness.list(account, 'Proveedores', rucs);
    const { id, secret } = await harness.webhook(account, url, { rate });
    const rowOf = async (sql: string) => (await harness.pool.query(sql, [id])).rows;
    const round: RoundScene['round'] = (settings, overrides) =>
      new Round(
        { ...dependenciesOf(harness, dispatcher, policy, secret, settings), ...overrides },
        { webhookId: id },
        new AbortController().signal,
      ).run();
    return {
      account,
      webhook: id,
      announce: async (ruc) => {
        edition += 1;
        const at = new Date('2026-11-27T09:20:31.250Z');
        await harness.edition(edition, '2026-11-26', at);
        const after = row({ estado: 'SUSPENSION TEMPORAL' });
        await harness.handler()(batchOf([change(edition, ruc, at, { after })]));
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
    ...harness,
    authority,
    scene,
    close: async () => {
      await dispatcher.destroy();
      await harness.close();
    },
  };
}

function dependenciesOf(
  { pool }: WatchHarness,
  dispatcher: Dispatcher,
  policy: RoundDependencies['attempt']['policy'],
  secret: string,
  overrides: Partial<DeliverySettings> = {},
): RoundDependencies {
  const { exchange, schedule, health, round } = { ...defaultDeliverySettings, ...quickSettings, ...overrides };
  return {
    pool,
    notifications: { listen: () => () => {} },
    attempt: { dispatcher, policy, limits: exchange, schedule, version: '0.0.0-test' },
    openSecrets: () => [secret],
    rule: health,
    limits: round,
    log: silentLog,
    metrics: makeDeliveryMetrics(new Registry()),
  };
}
