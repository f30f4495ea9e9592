import { trace } from '@opentelemetry/api';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { type CompareDependencies, comparePublication } from './compare.ts';
import { compareCorrection, freezeCorrection } from './correct.ts';
import { type FetchDependencies, fetchPublication, probe } from './fetch.ts';
import { freezePublication, judgePublication, nextWork, verifyPublication } from './judge.ts';
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
  extends FetchDependencies,
    CompareDependencies,
    EditionDependencies,
    ReconcileDependencies,
    StepReports {
  client: Client;
  heartbeats: HeartbeatLimits;
  /** Days after which raw publications are removed from the archive. null: they are never removed. */
  publicationDays: number | null;
}

/** Steps of `fetch`, `publish` and `reconcile`. Each step can run again at any time and skips what is done. */
export function makePublicationActivities(dependencies: PublicationDependencies) {
  const signal = () => Context.current().cancellationSignal;
  const beat = (details?: unknown) => Context.current().heartbeat(details);
  const step = <Arguments extends unknown[], Result>(
    name: string,
    subject: StepSubject,
    run: (...args: Arguments) => Promise<Result>,
  ) => asActivity(name, subject, dependencies, run);
  type Ids = [register: RegisterName, id: number];

  return {
    probe: step('probe', 'register', (register: RegisterName) => probe(dependencies, register, signal())),
    fetchPublication: step('fetchPublication', 'publication', (...[register, id]: Ids) =>
      withHeartbeats(dependencies.heartbeats, (report, signal) =>
        fetchPublication(dependencies, register, id, report, signal),
      ),
    ),
    wakePublish: step('wakePublish', 'register', (register: RegisterName) =>
      wakePublish(dependencies.client, register),
    ),
    nextWork: step('nextWork', 'register', (register: RegisterName) => nextWork(dependencies, register)),
    // This step needs heartbeats, because an archive in a bucket must download the file first.
    verifyPublication: step('verifyPublication', 'publication', (...[register, id]: Ids) =>
      withHeartbeats(dependencies.heartbeats, () => verifyPublication(dependencies, register, id)),
    ),
    comparePublication: step('comparePublication', 'publication', (...[register, id]: Ids) =>
      withHeartbeats(dependencies.heartbeats, (report, signal) =>
        comparePublication(dependencies, register, id, report, signal),
      ),
    ),
    judgePublication: step('judgePublication', 'publication', (...[register, id]: Ids) =>
      judgePublication(dependencies, register, id),
    ),
    freezePublication: step('freezePublication', 'publication', (...[, id]: Ids) =>
      freezePublication(dependencies, id),
    ),
    compareCorrection: step('compareCorrection', 'correction', (...[register, id]: Ids) =>
      withHeartbeats(dependencies.heartbeats, (report, signal) =>
        compareCorrection(dependencies, register, id, report, signal),
      ),
    ),
    freezeCorrection: step('freezeCorrection', 'correction', (...[, id]: Ids) => freezeCorrection(dependencies, id)),
    publishEdition: step(
      'publishEdition',
      'edition',
      (register: RegisterName, edition: number, mode: 'once' | 'again') =>
        withHeartbeats(dependencies.heartbeats, (report, signal) =>
          publishEdition(dependencies, { register, edition, mode, ...acknowledgedBefore() }, report, signal),
        ),
    ),
    awaitMaterialised: step('awaitMaterialised', 'edition', (...[register, edition]: Ids) =>
      awaitMaterialised(dependencies, register, edition, beat, signal()),
    ),
    awaitNotified: step('awaitNotified', 'edition', (...[register, edition]: Ids) =>
      awaitNotified(dependencies, register, edition, beat, signal()),
    ),
    reconcileRegister: step('reconcileRegister', 'register', (register: RegisterName) =>
      withHeartbeats(dependencies.heartbeats, (report, signal) =>
        reconcileRegister(dependencies, register, report, signal),
      ),
    ),
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

type Activity<Arguments extends unknown[], Result> = (...args: Arguments) => Promise<Result>;

/** What a step works on. Its arguments are the register and, for other subjects, the subject's number. */
type StepSubject = 'register' | 'publication' | 'edition' | 'correction';

interface StepReports {
  log: Logger;
  /** @param outcome `done`, `failed` or `cancelled` */
  observe(step: string, outcome: string, seconds: number): void;
}

/**
 * Turns a step into a Temporal activity. Each run writes one log line. A cancelled step fails as cancelled. Our typed
 * errors keep their code, and Temporal does not retry those that are not retryable. Other errors pass unchanged.
 */
function asActivity<Arguments extends unknown[], Result>(
  step: string,
  subject: StepSubject,
  { log, observe }: StepReports,
  run: Activity<Arguments, Result>,
): Activity<Arguments, Result> {
  return async (...args) => {
    const [register, number] = args as readonly unknown[];
    trace.getActiveSpan()?.setAttributes({
      'padron.register': String(register),
      ...(subject === 'register' ? {} : { [`padron.${subject}`]: Number(number) }),
    });
    const { info, cancellationSignal } = Context.current();
    const startedAt = performance.now();
    const fields = { step, workflowId: info.workflowExecution?.workflowId, attempt: info.attempt, ids: args };
    try {
      const result = await run(...args);
      const seconds = (performance.now() - startedAt) / 1000;
      observe(step, 'done', seconds);
      log.info({ ...fields, seconds, result }, 'publication step done');
      return result;
    } catch (error) {
      const seconds = (performance.now() - startedAt) / 1000;
      if (cancellationSignal.aborted) {
        observe(step, 'cancelled', seconds);
        log.warn({ ...fields, seconds }, 'publication step cancelled');
        throw new CancelledFailure('the step was cancelled');
      }
      observe(step, 'failed', seconds);
      log.error({ ...fields, seconds, err: error }, 'publication step failed');
      throw toFailure(error);
    }
  };
}

function toFailure(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ApplicationFailure) return error;
  const { code, retryable } = error as Error & { code?: unknown; retryable?: unknown };
  if (typeof code !== 'string' || typeof retryable !== 'boolean') return error;
  return ApplicationFailure.create({ message: error.message, type: code, nonRetryable: !retryable });
}

export interface HeartbeatLimits {
  /** How often the worker sends a heartbeat. It must be far shorter than the workflow's heartbeat timeout. */
  heartbeatEveryMs: number;
  /** A step that makes no progress for this time is considered stuck. It is aborted and runs again. */
  maxStallMs: number;
}

/** Writing a large index to a busy disk shows no progress for minutes, so `maxStallMs` is generous. */
export const defaultHeartbeatLimits: HeartbeatLimits = { heartbeatEveryMs: 3_000, maxStallMs: 15 * 60 * 1000 };

/**
 * Runs a long step with heartbeats and a limit on the time without progress. Heartbeats show that this worker is alive.
 * When they stop, the step runs on another worker within seconds. The details of a heartbeat are the last progress.
 */
async function withHeartbeats<Result>(
  limits: HeartbeatLimits,
  run: (report: (progress: unknown) => void, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const context = Context.current();
  const stall = new AbortController();
  const hanging = setTimeout(() => {
    stall.abort(new Error(`the step made no progress for ${limits.maxStallMs} ms`));
  }, limits.maxStallMs);
  // Keep an earlier attempt's details until this attempt reports. They contain what Kafka has acknowledged.
  let last: unknown = context.info.heartbeatDetails;
  const heartbeats = setInterval(() => context.heartbeat(last), limits.heartbeatEveryMs);
  try {
    const report = (progress: unknown) => {
      last = progress;
      hanging.refresh();
      context.heartbeat(progress);
    };
    return await run(report, AbortSignal.any([context.cancellationSignal, stall.signal]));
  } finally {
    clearInterval(heartbeats);
    clearTimeout(hanging);
  }
}
