import { trace } from '@opentelemetry/api';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { isLost, lostRemedy } from '../../pipelines/archive/archive.ts';
import { passingOf } from '../../pipelines/runtime/passing-errors.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { type CompareDependencies, comparePublication } from './compare.ts';
import { compareCorrection } from './correct.ts';
import { type FetchDependencies, fetchPublication, probe } from './fetch.ts';
import { judgePublication, nextWork, verifyPublication } from './judge.ts';
import type { StepRun } from './messages.ts';
import {
  awaitMaterialised,
  awaitNotified,
  type EditionDependencies,
  type PublishEditionInput,
  publishEdition,
  type ReconcileDependencies,
  reconcileRegister,
} from './publish.ts';
import { wakePublish } from './schedule.ts';

export interface PublicationDependencies
  extends Omit<FetchDependencies & CompareDependencies & EditionDependencies & ReconcileDependencies, keyof StepRun> {
  client: Client;
  heartbeats: HeartbeatLimits;
  /** Days after which raw publications are removed from the archive. null: they are never removed. */
  publicationDays: number | null;
  /** Counts one run of a step. @param outcome `done`, `failed` or `cancelled` */
  observe(step: string, outcome: string, seconds: number): void;
}

/** Steps of the workflows `fetch`, `publish` and `reconcile`. Each can run again at any time and skips what is done. */
export function makePublicationActivities(dependencies: PublicationDependencies) {
  const activity =
    <Arguments extends unknown[], Result>(subject: StepSubject, step: Step<Arguments, Result>) =>
    (...args: Arguments) =>
      runStep(dependencies, subject, step, args);
  return {
    probe: activity('register', probe),
    fetchPublication: activity('publication', fetchPublication),
    wakePublish: activity('register', ({ client }, register: RegisterName) => wakePublish(client, register)),
    nextWork: activity('register', nextWork),
    verifyPublication: activity('publication', verifyPublication),
    comparePublication: activity('publication', comparePublication),
    judgePublication: activity('publication', judgePublication),
    freezePublication: activity('publication', ({ guard }, register: RegisterName, id: number) =>
      guard.freeze(register, 'publication', id),
    ),
    compareCorrection: activity('correction', compareCorrection),
    freezeCorrection: activity('correction', ({ guard }, register: RegisterName, id: number) =>
      guard.freeze(register, 'correction', id),
    ),
    publishEdition: activity('edition', (run, register: RegisterName, edition: number, mode: 'once' | 'again') =>
      publishEdition(run, { register, edition, mode, ...acknowledgedBefore() }),
    ),
    awaitMaterialised: activity('edition', awaitMaterialised),
    awaitNotified: activity('edition', awaitNotified),
    reconcileRegister: activity('register', reconcileRegister),
  };
}

const count = z.number().int().nonnegative();
const publishProgress = z.object({ acknowledgedBlocks: count, logEnds: z.array(count) });

/** Returns what Kafka acknowledged in an earlier attempt of this step, from the attempt's last heartbeat. */
function acknowledgedBefore(): Pick<PublishEditionInput, 'acknowledged'> {
  const acknowledged = publishProgress.safeParse(Context.current().info.heartbeatDetails).data;
  return acknowledged === undefined ? {} : { acknowledged };
}

export type PublicationActivities = ReturnType<typeof makePublicationActivities>;

type Step<Arguments extends unknown[], Result> = (
  dependencies: PublicationDependencies & StepRun,
  ...args: Arguments
) => Promise<Result>;

/**
 * What a step works on. The first argument of every step is a register. Unless the subject is `register`, the second
 * argument is the number of the publication, edition or correction.
 */
type StepSubject = 'register' | 'publication' | 'edition' | 'correction';

/**
 * Runs a step as a Temporal activity and writes one log line about it. A cancelled step fails as cancelled. For other
 * errors see `toFailure`.
 */
async function runStep<Arguments extends unknown[], Result>(
  dependencies: PublicationDependencies,
  subject: StepSubject,
  step: Step<Arguments, Result>,
  args: Arguments,
): Promise<Result> {
  const { log, observe, heartbeats } = dependencies;
  const [register, number] = args as readonly unknown[];
  trace.getActiveSpan()?.setAttributes({
    'padron.register': String(register),
    ...(subject === 'register' ? {} : { [`padron.${subject}`]: Number(number) }),
  });
  const { info, cancellationSignal } = Context.current();
  const { activityType, workflowExecution, attempt } = info;
  const startedAt = performance.now();
  const end = (outcome: string) => {
    const seconds = (performance.now() - startedAt) / 1000;
    observe(activityType, outcome, seconds);
    return { step: activityType, workflowId: workflowExecution?.workflowId, attempt, ids: args, seconds };
  };
  try {
    const result = await withHeartbeats(heartbeats, (run) => step({ ...dependencies, ...run }, ...args));
    log.info({ ...end('done'), result }, 'publication step done');
    return result;
  } catch (error) {
    if (cancellationSignal.aborted) {
      log.warn(end('cancelled'), 'publication step cancelled');
      throw new CancelledFailure('the step was cancelled');
    }
    log.error({ ...end(passingOf(error) ?? 'failed'), err: error }, 'publication step failed');
    throw toFailure(error, subject);
  }
}

/** An edition whose change file the archive lost or damaged is tried again after this time. */
const lostFileDelay = '10 minutes';

/**
 * An error with `code` and `retryable` keeps its code, and Temporal retries it only if it is retryable. Other errors
 * pass unchanged. If the archive has lost an edition's change file, the step is retried until somebody brings the file
 * back, because an edition can no longer go into quarantine. Without these retries the workflow would fail, and the
 * sweeper would start it again every half minute.
 */
function toFailure(error: unknown, subject: StepSubject): unknown {
  if (!(error instanceof Error) || error instanceof ApplicationFailure) return error;
  if (subject === 'edition' && isLost(error)) {
    const message = `${error.message}; ${lostRemedy}`;
    return ApplicationFailure.create({ message, type: error.code, nextRetryDelay: lostFileDelay });
  }
  const { code, retryable } = error as Error & { code?: unknown; retryable?: unknown };
  if (typeof code !== 'string' || typeof retryable !== 'boolean') return error;
  return ApplicationFailure.create({ message: error.message, type: code, nonRetryable: !retryable });
}

interface HeartbeatLimits {
  /** How often the worker sends a heartbeat. It must be far shorter than the workflow's heartbeat timeout. */
  heartbeatEveryMs: number;
  /** A step that makes no progress for this time is considered stuck. It is aborted and runs again. */
  maxStallMs: number;
}

/**
 * Runs a step with heartbeats, and aborts it if it makes no progress for `maxStallMs`. Without heartbeats, Temporal
 * considers this worker dead and runs the step on another worker. Each heartbeat carries the last reported progress.
 */
async function withHeartbeats<Result>(
  limits: HeartbeatLimits,
  step: (run: StepRun) => Promise<Result>,
): Promise<Result> {
  const context = Context.current();
  const stall = new AbortController();
  const hanging = setTimeout(() => {
    stall.abort(new Error(`the step made no progress for ${limits.maxStallMs} ms`));
  }, limits.maxStallMs);
  // Until this attempt reports, its heartbeats repeat the previous attempt's details. In the step that writes to Kafka,
  // the details are what Kafka has acknowledged. Without the details, the next attempt would send all of it again.
  let last: unknown = context.info.heartbeatDetails;
  const heartbeats = setInterval(() => context.heartbeat(last), limits.heartbeatEveryMs);
  try {
    const report = (progress: unknown) => {
      last = progress;
      hanging.refresh();
      context.heartbeat(progress);
    };
    return await step({ report, signal: AbortSignal.any([context.cancellationSignal, stall.signal]) });
  } finally {
    clearInterval(heartbeats);
    clearTimeout(hanging);
  }
}
