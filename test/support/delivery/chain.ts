import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Addresses } from '../../../deploy/local/config.ts';
import { type Chain, startChain } from '../../../deploy/local/demo/chain.ts';
import { makeKafka } from '../../../pipelines/runtime/kafka/client.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { watchServer } from '../../../pipelines/runtime/server-watch.ts';
import { prepareStream } from '../../../pipelines/stream/prepare.ts';
import { connectRegistry } from '../../../pipelines/stream/registry.ts';
import { inventedRuc } from '../engines/stream.ts';
import { keyRingText, silentLog } from '../watch/harness.ts';
import { KillableReceiver } from './killable-receiver.ts';
import { Load, makeCustomers } from './load.ts';

/**
 * The whole product on its own engines, with a receiver process, customers, and a load of editions that affect them.
 */
export interface DeliveryChain {
  chain: Chain;
  receiver: KillableReceiver;
  pool: Pool;
  load: Load;
  stop: () => Promise<void>;
}

export interface DeliveryChainOptions {
  customers: number;
  /** Companies that each customer watches. All of them change in every edition. */
  companies: number;
  /** Requests per second that each customer's webhook accepts. */
  rate: number;
  /** Addresses of engines that run elsewhere and are not started. */
  addresses?: Addresses;
  /** Runs before the customers are made, for example to publish a register. Returns the register's last edition. */
  prepare?: (chain: Chain, pool: Pool) => Promise<number>;
}

export async function startDeliveryChain(
  options: DeliveryChainOptions,
  log: (line: string) => void,
): Promise<DeliveryChain> {
  const directory = mkdtempSync(path.join(tmpdir(), 'padron-delivery-'));
  const stops: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true })];
  const stop = async () => {
    for (const part of stops.reverse()) await part();
  };
  try {
    const receiver = await KillableReceiver.start(path.join(directory, 'ledger.txt'));
    stops.push(() => receiver.kill());
    const caFile = path.join(directory, 'authority.pem');
    writeFileSync(caFile, receiver.caPem);
    const environment = { EGRESS_EXTRA_CA: caFile, WEBHOOK_SECRET_KEYS: keyRingText };
    const chain = await startChain({
      ...{ directory: path.join(directory, 'chain'), log, environment },
      ...(options.addresses === undefined ? {} : { addresses: options.addresses }),
    });
    stops.push(() => chain.stop());
    const { DATABASE_URL, KAFKA_BROKERS } = chain.stack.endpoints;
    const pool = makePool(DATABASE_URL, 'padron-load', 3);
    stops.push(() => pool.end());
    stops.push(watchServer(pool, DATABASE_URL, 'padron-load', silentLog));
    const lastEdition = (await options.prepare?.(chain, pool)) ?? 0;
    const customers = await makeCustomers(pool, receiver.origin, listsOf(options), options.rate);
    const load = await Load.start(pool, KAFKA_BROKERS, await schemaId(chain, pool), customers, lastEdition);
    stops.push(() => load.stop());
    return { chain, receiver, pool, load, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function listsOf({ customers, companies }: DeliveryChainOptions): string[][] {
  const listOf = (customer: number) =>
    Array.from({ length: companies }, (_, at) => inventedRuc(customer * companies + at));
  return Array.from({ length: customers }, (_, customer) => listOf(customer));
}

async function schemaId({ stack }: Chain, pool: Pool): Promise<number> {
  const { KAFKA_BROKERS, SCHEMA_REGISTRY_URL, ARCHIVE_URL } = stack.endpoints;
  const kafka = makeKafka({ brokers: KAFKA_BROKERS }, 'load', silentLog);
  const registry = connectRegistry(SCHEMA_REGISTRY_URL);
  const ids = await prepareStream({ kafka, registry, pool, archiveUrl: ARCHIVE_URL, prefix: '' }, 'padron_reducido');
  return ids.changes;
}
