import { Gauge, type Registry } from 'prom-client';
import { type Replica, readReplicas } from '../pipelines/replicas/catalogue.ts';
import type { Holding } from '../pipelines/replicas/holding.ts';
import { startRepeating } from '../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../pipelines/runtime/log.ts';
import type { Pool } from '../pipelines/runtime/postgres.ts';

/** Pause between two looks at every ClickHouse replica. */
const everyMs = 1_000;

/** Looks at every ClickHouse replica each second, and exports their states. Returns a function that ends it. */
export function startReplicaRounds(holding: Holding, pool: Pool, metrics: Registry, log: Logger): () => Promise<void> {
  addGauge(metrics, pool, 'padron_replica_serving', '1 if the API may ask this ClickHouse replica', isServing);
  const behind = 'Editions that this ClickHouse replica lacks, in the register of which it lacks most';
  addGauge(metrics, pool, 'padron_replica_behind_editions', behind, editionsBehind);
  let last = '';
  const look = async () => {
    try {
      await holding.round();
      last = '';
    } catch (error) {
      // An engine that is away would fill the log with a line a second.
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== last) log.warn({ err: error }, 'the replicas could not be looked at; this goes on every second');
      last = reason;
    }
  };
  return startRepeating('replicas', everyMs, log, look, 'at_once');
}

function addGauge(
  metrics: Registry,
  pool: Pool,
  name: string,
  help: string,
  value: (replica: Replica) => number,
): void {
  new Gauge({
    name,
    help,
    labelNames: ['replica'],
    registers: [metrics],
    async collect() {
      this.reset();
      for (const replica of await readReplicas(pool)) this.set({ replica: replica.name }, value(replica));
    },
  });
}

function isServing({ state, behind }: Replica): number {
  return Number(state === 'serving' && Object.keys(behind).length === 0);
}

function editionsBehind({ behind }: Replica): number {
  return Math.max(0, ...Object.values(behind).map(({ holds, served }) => served - holds));
}
