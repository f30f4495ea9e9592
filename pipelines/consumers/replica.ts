import { setTimeout as sleep } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import { beginStore, forgetHeld, readHolding, readReplicas } from '../replicas/catalogue.ts';
import { readFromBeginning, storeFacts } from '../replicas/store.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import { type ClickhouseConfiguration, ConfigurationError } from '../runtime/config.ts';
import type { Logger } from '../runtime/log.ts';
import type { Pool } from '../runtime/postgres.ts';
import { defaultReplica } from '../runtime/replica-settings.ts';
import { materializeGroup } from '../stream/topics.ts';
import { type LastKnownRows, makeLastKnownRows } from '../watch/watchers.ts';
import type { BatchHandler } from './batch.ts';

interface FedReplica {
  pool: Pool;
  kafka: Kafka;
  clickhouse: ClickHouseClient;
  prefix: string;
  name: string;
  log: Logger;
}

/** Returns the name of the replica that a consumers process feeds. @throws ConfigurationError when it is not said */
export function fedReplicaOf(config: ClickhouseConfiguration): string {
  const { CLICKHOUSE_REPLICAS: replicas, CLICKHOUSE_REPLICA: wanted } = config;
  if (replicas === undefined && wanted === undefined) return defaultReplica;
  const names = (replicas ?? []).map(({ name }) => name);
  if (wanted !== undefined && names.includes(wanted)) return wanted;
  throw new ConfigurationError(
    'The configuration is not valid:\n  CLICKHOUSE_REPLICA: must name the one of CLICKHOUSE_REPLICAS that this process ' +
      `feeds: ${names.join(', ')}`,
  );
}

const retryMs = 1_000;

/**
 * Finds out whether the replica's consumer group has fed the store that is there now. If the store is a new one, the
 * group reads all topics again from the beginning. Waits while the replica does not answer or has no tables, and while
 * another consumers process still belongs to the group of the old store: Kafka keeps a killed one for 30 s.
 * @param onWait gets the text that says what is waited for
 * @returns the store's id
 */
export async function beginReplica(fed: FedReplica, onWait: (reason: string) => void): Promise<string> {
  let last = '';
  for (;;) {
    try {
      return await beginOnce(fed);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== last) fed.log.warn({ err: error, replica: fed.name }, 'the replica cannot be fed yet');
      last = reason;
      onWait(reason);
      await sleep(retryMs);
    }
  }
}

async function beginOnce({ pool, kafka, clickhouse, prefix, name, log }: FedReplica): Promise<string> {
  const { id } = await storeFacts(clickhouse);
  if (id === null) throw new Error(`the replica ${name} has no tables: run \`npx padron migrate --replica ${name}\``);
  const known = (await readReplicas(pool)).find((replica) => replica.name === name)?.store ?? null;
  if (known === id) return id;
  // The server of an installation that had only one goes on with the group that it had.
  if (name !== defaultReplica || known !== null) {
    log.warn({ replica: name }, 'the store of this replica is new: all topics are read from the beginning');
    // If the process dies before the last of these three steps, the next start takes all three again. A replica that
    // holds nothing is asked by nobody meanwhile.
    await forgetHeld(pool, name, 'its store is new, and it reads its topics from the beginning');
    await readFromBeginning(kafka, materializeGroup(prefix, name));
  }
  await beginStore(pool, name, id);
  return id;
}

class StoreChanged extends Error {
  override name = 'StoreChanged';
  readonly code = 'store_changed';
  readonly retryable: boolean;

  constructor(message: string, retryable: boolean, cause?: unknown) {
    super(message, { cause });
    this.retryable = retryable;
  }
}

/**
 * Wraps the handler of materialize: after each batch, and before its commit, the store must still be the one that the
 * group feeds. If the disk was replaced meanwhile, the process ends, and its next start reads the topics from the
 * beginning. Without this, the new store would lack everything that was committed before.
 */
export function guardStore(handle: BatchHandler, clickhouse: ClickHouseClient, store: string): BatchHandler {
  return async (batch) => {
    await handle(batch);
    const facts = await storeFacts(clickhouse).catch((error: unknown) => {
      throw new StoreChanged('the store could not be identified', true, error);
    });
    if (facts.id !== store) throw new StoreChanged('this replica has another store than before', false);
  };
}

/**
 * Reads last known rows from a replica that holds all editions before the wanted one, whichever that is. The replica
 * that this process feeds may be new and still read old editions.
 */
export function lastKnownRowsOf(pool: Pool, clients: ReadonlyMap<string, ClickHouseClient>): LastKnownRows {
  return async (register, rucs, beforeEdition) => {
    if (rucs.length === 0 || beforeEdition === 1) return new Map();
    let failure: unknown = null;
    for (const { name, store } of await readHolding(pool, register.name, beforeEdition - 1)) {
      const clickhouse = clients.get(name);
      if (clickhouse === undefined) continue;
      try {
        if (store !== null && (await storeFacts(clickhouse)).id !== store) continue;
        return await makeLastKnownRows(clickhouse)(register, rucs, beforeEdition);
      } catch (error) {
        failure = error;
      }
    }
    throw new StoreChanged(`no replica answers that has edition ${beforeEdition - 1}`, true, failure);
  };
}
