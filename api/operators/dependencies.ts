import type { Archive } from '../../pipelines/archive/archive.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { LastKnownRows } from '../../pipelines/watch/watchers.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { OrderedRun } from '../../workflows/publication/schedule.ts';
import type { Order } from './decisions.ts';
import type { PublishedLines } from './published-lines.ts';

/** All that the operators' pages use. */
export interface OperatorDependencies {
  pool: Pool;
  log: Logger;
  now(): Date;
  /** Null where this process has no archive. Pages that read files then say so. */
  archive: Archive | null;
  /** Null where `archive` is. */
  lines: PublishedLines | null;
  /** Reads in ClickHouse, for the count of notices before an approval. */
  lastKnownRows: LastKnownRows;
  /** Starts the register's workflow `publish`. If this does not arrive, the worker's sweeper finds the work. */
  wakePublish(register: RegisterName): Promise<void>;
  /** Starts the webhook's workflow. If this does not arrive, the worker's sweeper finds the work. */
  wake(webhookId: string): Promise<void>;
  /**
   * Gives an order to Temporal. Null without an address of Temporal.
   * @throws when Temporal does not answer in time
   */
  giveOrder: ((order: Order) => Promise<OrderedRun>) | null;
}
