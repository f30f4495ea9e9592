import { ScheduleOverlapPolicy } from '@temporalio/client';
import type { Archive } from '../../pipelines/archive/archive.ts';
import { readFreshness } from '../../pipelines/editions/freshness.ts';
import { hasAbandonedDownload } from '../../pipelines/editions/publications.ts';
import { removeOldPublications } from '../../pipelines/editions/retention.ts';
import { startRepeating } from '../../pipelines/runtime/lifecycle.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import type { PublicationDependencies } from './activities.ts';
import { nextWork } from './judge.ts';
import { ensureSchedule, type ScheduleSettings, startPublish } from './schedule.ts';

interface SweepDependencies
  extends Pick<
    PublicationDependencies,
    'pool' | 'client' | 'editionsToRepublish' | 'guard' | 'publicationDays' | 'log'
  > {
  schedule: ScheduleSettings;
  archive: Pick<Archive, 'remove'>;
}

/** If a publication was detected this long ago and is still not downloaded, its download is started again. */
const abandonedAfterMs = 10 * 60 * 1000;

/**
 * Starts the workflow `publish` of each register with unfinished work in PostgreSQL, even if Temporal has lost that
 * work. It also starts abandoned downloads again, makes missing schedules and removes old publications. The sweep is
 * cheap and can be repeated.
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
  const { pool, client, archive, publicationDays, log } = dependencies;
  const handle = await ensureSchedule(client, register, dependencies.schedule);
  const open = await nextWork(dependencies, register);
  if (open.kind !== 'none') {
    log.info({ register, open }, 'open work has a workflow');
    await startPublish(client, register);
  }
  if (await hasAbandonedDownload(pool, register, abandonedAfterMs)) {
    // Temporal skips this trigger while a fetch runs.
    await handle.trigger(ScheduleOverlapPolicy.SKIP);
  }
  if (publicationDays === null) return;
  const removed = await removeOldPublications(pool, archive, register, publicationDays);
  if (removed > 0) log.info({ register, removed, publicationDays }, 'old raw publications removed from the archive');
}

/**
 * Returns a function that logs which registers have become late, or are no longer late, since its last call. After a
 * restart, the worker logs late registers again.
 */
export function makeLateWatch({ pool, log }: Pick<SweepDependencies, 'pool' | 'log'>) {
  const known = new Set<RegisterName>();
  return async (now: Date = new Date()): Promise<void> => {
    for (const { register, edition, late } of await readFreshness(pool, now)) {
      if (late.length > 0 === known.has(register)) continue;
      if (late.length > 0) {
        known.add(register);
        log.warn({ register, edition, reasons: late }, 'the register is late');
      } else {
        known.delete(register);
        log.info({ register, edition }, 'the register is no longer late');
      }
    }
  };
}

/** Sweeps at once and then every `everyMs`. A failed sweep is logged. Returns a function that stops the sweeper. */
export function startSweeper(dependencies: SweepDependencies, everyMs: number): () => Promise<void> {
  const logLateRegisters = makeLateWatch(dependencies);
  const work = async () => {
    // Look for late registers first: while Temporal is down, `sweep` throws, and a register may become late then.
    await logLateRegisters();
    await sweep(dependencies);
  };
  return startRepeating('sweep of publications', everyMs, dependencies.log, work, 'at_once');
}
