import {
  continueAsNew,
  defineSignal,
  isCancellation,
  proxyActivities,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { PublicationActivities } from './activities.ts';
import {
  archivedSignalName,
  type FetchResult,
  type PublishResult,
  type ReconcileInput,
  type ReconcileResult,
  type RegisterInput,
} from './messages.ts';

const archivedSignal = defineSignal(archivedSignalName);

/** Short steps that use PostgreSQL or wake the workflow `publish`. They are retried until they succeed. */
const quick = proxyActivities<PublicationActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** Steps that ask the official site. They are retried for 20 hours; after that, the next scheduled run asks. */
const site = proxyActivities<PublicationActivities>({
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: '20 seconds',
  scheduleToCloseTimeout: '20 hours',
  // The first retry comes soon, in case a worker stopped. Later retries are rarer, in case the site is down.
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 minutes' },
});

/** Steps that read a whole file or topic. Most of them use a child process, killed when the step is cancelled. */
const heavy = proxyActivities<PublicationActivities>({
  startToCloseTimeout: '2 hours',
  heartbeatTimeout: '20 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '2 minutes' },
});

/** Steps that wait for an edition. Each call waits up to about a minute and returns `false` if that was not enough. */
const waiting = proxyActivities<PublicationActivities>({
  startToCloseTimeout: '3 minutes',
  heartbeatTimeout: '20 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/**
 * The step that compares a register's state in ClickHouse with the archive. It reads the whole register. Its attempts
 * are limited, because the next day's check comes anyway.
 */
const checking = proxyActivities<PublicationActivities>({
  startToCloseTimeout: '2 hours',
  heartbeatTimeout: '20 seconds',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 3, maximumAttempts: 4 },
});

/**
 * Number of rounds of publishRegister() in one workflow run. The limit keeps the run's history far below Temporal's
 * limit. The next run finds all open work in PostgreSQL.
 */
const maxRoundsPerRun = 50;
const headMovedPause = '2 seconds';

/**
 * Probes the site, downloads a new file and archives it. Does not wait until the file is published. Otherwise the next
 * probe would be late, and the site keeps only its newest file. Wakes `publish` even if nothing is new, because other
 * work may be open.
 */
async function fetchRegister({ register }: RegisterInput): Promise<FetchResult> {
  const probe = await site.probe(register);
  if (probe.outcome === 'nothing_new') {
    await quick.wakePublish(register);
    return { outcome: 'nothing_new', publicationId: probe.publicationId };
  }
  const fetched = await site.fetchPublication(register, probe.publicationId);
  await quick.wakePublish(register);
  const outcome = fetched.outcome === 'known' ? 'nothing_new' : fetched.outcome;
  return { outcome, publicationId: fetched.publicationId };
}

/**
 * Does the register's open work until none is left, in the order of `nextWork` (judge.ts). All state is in PostgreSQL,
 * so the workflow may end or restart at any point.
 */
async function publishRegister({ register }: RegisterInput): Promise<PublishResult> {
  let wakes = 0;
  setHandler(archivedSignal, () => {
    wakes += 1;
  });
  const done: PublishResult = { publications: 0, editions: 0 };
  for (let round = 0; ; round += 1) {
    const seen = wakes;
    if (round >= maxRoundsPerRun || workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof publishRegister>({ register });
    }
    const work = await heavy.nextWork(register);
    if (work.kind === 'republish') {
      await heavy.publishEdition(register, work.edition, 'again');
    } else if (work.kind === 'edition') {
      if (await finishEdition({ register }, work.edition)) done.editions += 1;
    } else if (work.kind === 'correction') {
      await takeCorrection({ register }, work.correctionId);
    } else if (work.kind === 'publication') {
      if (await takePublication({ register }, work.publicationId)) done.publications += 1;
    } else if (seen === wakes) {
      return done;
    }
  }
}

/** Verifies, compares and judges a publication and makes an edition of it. Returns false if it must be taken again. */
async function takePublication({ register }: RegisterInput, publicationId: number): Promise<boolean> {
  if ((await heavy.verifyPublication(register, publicationId)).outcome === 'ended') return true;
  if ((await heavy.comparePublication(register, publicationId)).outcome === 'ended') return true;
  if ((await quick.judgePublication(register, publicationId)).outcome === 'ended') return true;
  const frozen = await heavy.freezePublication(register, publicationId);
  if (frozen.outcome === 'frozen') return true;
  // The head moved or is not in ClickHouse yet, or the register is paused, or the catalogue disagrees with Kafka or
  // ClickHouse (CatalogueGuard). Sleep, so that the rounds are no busy loop.
  await sleep(headMovedPause);
  return false;
}

/** Compares a correction and makes an edition of it. A later round finishes this edition like any other. */
async function takeCorrection({ register }: RegisterInput, correctionId: number): Promise<void> {
  if ((await heavy.compareCorrection(register, correctionId)).outcome === 'ended') return;
  const frozen = await heavy.freezeCorrection(register, correctionId);
  if (frozen.outcome !== 'frozen') await sleep(headMovedPause);
}

/**
 * Writes an edition to Kafka, and waits until ClickHouse has the edition and all its events are written. Returns false
 * if that took too long. The caller then tries again.
 */
async function finishEdition({ register }: RegisterInput, edition: number): Promise<boolean> {
  await heavy.publishEdition(register, edition, 'once');
  if (!(await waiting.awaitMaterialised(register, edition))) return false;
  return await waiting.awaitNotified(register, edition);
}

/**
 * Checks one register after another and not all at once, because each check reads a whole register. A failed check does
 * not stop the others.
 */
async function reconcileRegisters({ registers }: ReconcileInput): Promise<ReconcileResult> {
  const result: ReconcileResult = { equal: 0, different: 0, skipped: 0, failed: 0 };
  for (const register of registers) {
    try {
      const { outcome } = await checking.reconcileRegister(register);
      result[outcome] += 1;
    } catch (error) {
      if (isCancellation(error)) throw error;
      result.failed += 1;
    }
  }
  return result;
}

export { fetchRegister as fetch, publishRegister as publish, reconcileRegisters as reconcile };
