import { type Client, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Archive } from '../../pipelines/archive/archive.ts';
import { readFreshness } from '../../pipelines/editions/freshness.ts';
import { hasAbandonedDownload } from '../../pipelines/editions/publications.ts';
import { removeOldPublications } from '../../pipelines/editions/retention.ts';
import { startRepeating } from '../../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import { nextWork } from './judge.ts';
import type { NextWork } from './messages.ts';
import { ensureReconcileSchedule, ensureSchedule, type ScheduleSettings, startPublish } from './schedule.ts';

export interface SweepParts {
  pool: Pool;
  client: Client;
  schedule: ScheduleSettings;
  /** Editions whose end Kafka no longer has. */
  editionsToRepublish(register: RegisterName): Promise<readonly number[]>;
  archive: Pick<Archive, 'remove'>;
  /** Raw publications older than this many days go from the archive; null: never. */
  publicationDays: number | null;
  log: Logger;
}

/** A download in progress heartbeats; one that nobody took up for so long is asked for again. */
const abandonedAfterMs = 10 * 60 * 1000;

/**
 * Whatever the catalogue holds unfinished gets a workflow, whether or not Temporal still knows of it: PostgreSQL is the
 * truth, Temporal only the doing. Also makes schedules where they are missing and ends the retention of old publications.
 * Repeatable and cheap.
 */
async function sweep(parts: SweepParts): Promise<void> {
  await ensureReconcileSchedule(parts.client, parts.schedule);
  for (const register of registerNames) {
    // One that cannot be swept (a bucket that removes nothing, a topic that is gone) keeps no other from it.
    await sweepRegister(parts, register).catch((error: unknown) => {
      parts.log.error({ err: error, register }, 'sweep of a register failed; the next one tries again');
    });
  }
}

async function sweepRegister(parts: SweepParts, register: RegisterName): Promise<void> {
  const handle = await ensureSchedule(parts.client, register, parts.schedule);
  const open: NextWork = await nextWork(parts, register);
  if (open.kind !== 'none') {
    parts.log.info({ register, open }, 'open work has a workflow');
    await startPublish(parts.client, register);
  }
  if (await hasAbandonedDownload(parts.pool, register, abandonedAfterMs)) {
    // Skipped by the server while a fetch runs.
    await handle.trigger(ScheduleOverlapPolicy.SKIP);
  }
  await endRetention(parts, register);
}

async function endRetention(
  { pool, archive, publicationDays, log }: SweepParts,
  register: RegisterName,
): Promise<void> {
  if (publicationDays === null) return;
  const removed = await removeOldPublications(pool, archive, register, publicationDays);
  if (removed > 0) log.info({ register, removed, publicationDays }, 'old raw publications removed from the archive');
}

/** One line when a register becomes late and one when it no longer is; a restarted worker says it once more. */
export class LateWatch {
  readonly #late = new Set<RegisterName>();
  readonly #parts: Pick<SweepParts, 'pool' | 'log'>;

  constructor(parts: Pick<SweepParts, 'pool' | 'log'>) {
    this.#parts = parts;
  }

  async look(now: Date = new Date()): Promise<void> {
    for (const { register, edition, late } of await readFreshness(this.#parts.pool, now)) {
      if (late.length > 0 === this.#late.has(register)) continue;
      if (late.length > 0) {
        this.#late.add(register);
        this.#parts.log.warn({ register, edition, reasons: late }, 'the register is late');
      } else {
        this.#late.delete(register);
        this.#parts.log.info({ register, edition }, 'the register is no longer late');
      }
    }
  }
}

/** Sweeps now and then every `everyMs`; a failed one is logged and the next one tries again. Returns the stop. */
export function startSweeper(parts: SweepParts, everyMs: number): () => Promise<void> {
  const lateWatch = new LateWatch(parts);
  const work = async () => {
    // First, since registers become late while Temporal is away.
    await lateWatch.look();
    await sweep(parts);
  };
  return startRepeating('sweep of publications', everyMs, parts.log, work, 'at_once');
}
