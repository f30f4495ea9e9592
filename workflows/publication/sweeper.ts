import { type Client, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Logger } from '../../deploy/runtime/log.ts';
import type { Pool } from '../../deploy/runtime/postgres.ts';
import { oldestUnfinishedEdition } from '../../pipelines/editions/editions.ts';
import { hasAbandonedDownload, nextPublication } from '../../pipelines/editions/publications.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import { ensureSchedule, type ScheduleSettings } from './schedule.ts';
import { startPublish } from './wake.ts';

export interface SweepParts {
  pool: Pool;
  client: Client;
  schedule: ScheduleSettings;
  /** Editions whose end Kafka no longer has. */
  editionsToRepublish(register: RegisterName): Promise<readonly number[]>;
  log: Logger;
}

/** A download in progress heartbeats; one that nobody took up for so long is asked for again. */
const abandonedAfterMs = 10 * 60 * 1000;

/**
 * Whatever the catalogue holds unfinished gets a workflow, whether or not Temporal still knows of it: PostgreSQL is the
 * truth, Temporal only the doing. Also makes the schedule where it is missing. Repeatable and cheap.
 */
export async function sweep(parts: SweepParts): Promise<void> {
  for (const register of registerNames) {
    const handle = await ensureSchedule(parts.client, register, parts.schedule);
    const open = await openWork(parts, register);
    if (open !== null) {
      parts.log.info({ register, open }, 'open work has a workflow');
      await startPublish(parts.client, register);
    }
    if (await hasAbandonedDownload(parts.pool, register, abandonedAfterMs)) {
      // Skipped by the server while a fetch runs.
      await handle.trigger(ScheduleOverlapPolicy.SKIP);
    }
  }
}

async function openWork(parts: SweepParts, register: RegisterName): Promise<string | null> {
  const edition = await oldestUnfinishedEdition(parts.pool, register);
  if (edition !== null) return `edition ${edition}`;
  const publication = await nextPublication(parts.pool, register);
  if (publication !== null) return `publication ${publication}`;
  const [lost] = await parts.editionsToRepublish(register);
  return lost === undefined ? null : `edition ${lost} again`;
}

/** Sweeps now and then every `everyMs`; a failed one is logged and the next one tries again. Returns the stop. */
export function startSweeper(parts: SweepParts, everyMs: number): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let busy = false;
  const run = () => {
    if (busy) return;
    busy = true;
    running = sweep(parts)
      .catch((error) => parts.log.error({ err: error }, 'a sweep failed; the next one tries again'))
      .finally(() => {
        busy = false;
      });
  };
  run();
  const timer = setInterval(run, everyMs);
  return async () => {
    clearInterval(timer);
    await running;
  };
}
