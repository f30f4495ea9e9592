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
import { ensureSchedule, type ScheduleSettings, startPublish } from './schedule.ts';

export interface SweepDependencies {
  pool: Pool;
  client: Client;
  schedule: ScheduleSettings;
  /** Editions whose end Kafka has lost. */
  editionsToRepublish(register: RegisterName): Promise<readonly number[]>;
  archive: Pick<Archive, 'remove'>;
  /** Days after which raw publications are removed from the archive. null: they are never removed. */
  publicationDays: number | null;
  log: Logger;
}

/** If a publication was detected this long ago and is still not downloaded, its download is started again. */
const abandonedAfterMs = 10 * 60 * 1000;

/**
 * Starts a workflow for each piece of unfinished work that PostgreSQL has, even if Temporal has forgotten it. It also
 * makes missing schedules and removes old publications. It is cheap and can be repeated.
 */
async function sweep(dependencies: SweepDependencies): Promise<void> {
  await ensureSchedule(dependencies.client, 'reconcile', dependencies.schedule);
  for (const register of registerNames) {
    // A register that fails (a bucket that refuses a removal, a topic that is gone) must not stop the others.
    await sweepRegister(dependencies, register).catch((error: unknown) => {
      dependencies.log.error({ err: error, register }, 'sweep of a register failed; the next one tries again');
    });
  }
}

async function sweepRegister(dependencies: SweepDependencies, register: RegisterName): Promise<void> {
  const handle = await ensureSchedule(dependencies.client, register, dependencies.schedule);
  const open: NextWork = await nextWork(dependencies, register);
  if (open.kind !== 'none') {
    dependencies.log.info({ register, open }, 'open work has a workflow');
    await startPublish(dependencies.client, register);
  }
  if (await hasAbandonedDownload(dependencies.pool, register, abandonedAfterMs)) {
    // Temporal skips this trigger while a fetch runs.
    await handle.trigger(ScheduleOverlapPolicy.SKIP);
  }
  await endRetention(dependencies, register);
}

async function endRetention(
  { pool, archive, publicationDays, log }: SweepDependencies,
  register: RegisterName,
): Promise<void> {
  if (publicationDays === null) return;
  const removed = await removeOldPublications(pool, archive, register, publicationDays);
  if (removed > 0) log.info({ register, removed, publicationDays }, 'old raw publications removed from the archive');
}

/** Logs when a register becomes late and when it is no longer late. A restarted worker logs a late register again. */
export class LateWatch {
  readonly #late = new Set<RegisterName>();
  readonly #dependencies: Pick<SweepDependencies, 'pool' | 'log'>;

  constructor(dependencies: Pick<SweepDependencies, 'pool' | 'log'>) {
    this.#dependencies = dependencies;
  }

  async look(now: Date = new Date()): Promise<void> {
    for (const { register, edition, late } of await readFreshness(this.#dependencies.pool, now)) {
      if (late.length > 0 === this.#late.has(register)) continue;
      if (late.length > 0) {
        this.#late.add(register);
        this.#dependencies.log.warn({ register, edition, reasons: late }, 'the register is late');
      } else {
        this.#late.delete(register);
        this.#dependencies.log.info({ register, edition }, 'the register is no longer late');
      }
    }
  }
}

/** Sweeps at once and then every `everyMs`. A failed sweep is logged. Returns a function that stops the sweeper. */
export function startSweeper(dependencies: SweepDependencies, everyMs: number): () => Promise<void> {
  const lateWatch = new LateWatch(dependencies);
  const work = async () => {
    // Look for late registers first. A register may become late while Temporal is down, when the sweep fails.
    await lateWatch.look();
    await sweep(dependencies);
  };
  return startRepeating('sweep of publications', everyMs, dependencies.log, work, 'at_once');
}
