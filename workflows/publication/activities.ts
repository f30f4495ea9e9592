import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import type { Logger } from '../../pipelines/runtime/log.ts';
import { type Attributes, noTracing, type Tracing, type Unit } from '../../pipelines/runtime/tracing/tracing.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { type CompareParts, comparePublication } from './compare.ts';
import { compareCorrection, freezeCorrection } from './correct.ts';
import { type FetchParts, fetchPublication, probe } from './fetch.ts';
import { freezePublication, judgePublication, nextWork, verifyPublication } from './judge.ts';
import {
  awaitMaterialised,
  awaitNotified,
  type EditionParts,
  type PublishEditionInput,
  publishEdition,
  type ReconcileParts,
  reconcileRegister,
} from './publish.ts';
import { wakePublish } from './schedule.ts';

export interface PublicationParts extends FetchParts, CompareParts, EditionParts, ReconcileParts, StepReports {
  client: Client;
  beats: BeatLimits;
  /** Raw publications older than this many days go from the archive; null: never. */
  publicationDays: number | null;
}

/** The steps of `fetch`, `publish` and `reconcile`. Each can run again at any time: what is done already is found done. */
export function makePublicationActivities(parts: PublicationParts) {
  const signal = () => Context.current().cancellationSignal;
  const beat = (details?: unknown) => Context.current().heartbeat(details);
  const step = <Arguments extends unknown[], Result>(
    name: string,
    subject: StepSubject,
    run: (...args: Arguments) => Promise<Result>,
  ) => asActivity(name, subject, parts, run);
  type Ids = [register: RegisterName, id: number];

  return {
    probe: step('probe', 'register', (register: RegisterName) => probe(parts, register, signal())),
    fetchPublication: step('fetchPublication', 'publication', (...[register, id]: Ids) =>
      beating(parts.beats, (report, signal) => fetchPublication(parts, register, id, report, signal)),
    ),
    wakePublish: step('wakePublish', 'register', (register: RegisterName) => wakePublish(parts.client, register)),
    nextWork: step('nextWork', 'register', (register: RegisterName) => nextWork(parts, register)),
    // Where the archive is a bucket it may have to fetch the file first.
    verifyPublication: step('verifyPublication', 'publication', (...[register, id]: Ids) =>
      beating(parts.beats, () => verifyPublication(parts, register, id)),
    ),
    comparePublication: step('comparePublication', 'publication', (...[register, id]: Ids) =>
      beating(parts.beats, (report, signal) => comparePublication(parts, register, id, report, signal)),
    ),
    judgePublication: step('judgePublication', 'publication', (...[register, id]: Ids) =>
      judgePublication(parts, register, id),
    ),
    freezePublication: step('freezePublication', 'publication', (...[, id]: Ids) => freezePublication(parts, id)),
    compareCorrection: step('compareCorrection', 'correction', (...[register, id]: Ids) =>
      beating(parts.beats, (report, signal) => compareCorrection(parts, register, id, report, signal)),
    ),
    freezeCorrection: step('freezeCorrection', 'correction', (...[, id]: Ids) => freezeCorrection(parts, id)),
    publishEdition: step(
      'publishEdition',
      'edition',
      (register: RegisterName, edition: number, mode: 'once' | 'again') =>
        beating(parts.beats, (report, signal) =>
          publishEdition(parts, { register, edition, mode, ...acknowledgedBefore() }, report, signal),
        ),
    ),
    awaitMaterialised: step('awaitMaterialised', 'edition', (...[register, edition]: Ids) =>
      awaitMaterialised(parts, register, edition, beat, signal()),
    ),
    awaitNotified: step('awaitNotified', 'edition', (...[register, edition]: Ids) =>
      awaitNotified(parts, register, edition, beat, signal()),
    ),
    reconcileRegister: step('reconcileRegister', 'register', (register: RegisterName) =>
      beating(parts.beats, (report, signal) => reconcileRegister(parts, register, report, signal)),
    ),
  };
}

/** The last heartbeat of an earlier attempt of this step says what Kafka had acknowledged. */
const count = z.number().int().nonnegative();
const publishProgress = z.object({ acknowledgedBlocks: count, logEnds: z.array(count) });

function acknowledgedBefore(): Pick<PublishEditionInput, 'acknowledged'> {
  const acknowledged = publishProgress.safeParse(Context.current().info.heartbeatDetails).data;
  return acknowledged === undefined ? {} : { acknowledged };
}

export type PublicationActivities = ReturnType<typeof makePublicationActivities>;

/** Of which run of which workflow an activity is, for traces: the ids by which Temporal finds it. */
export function runOf({ info }: Context): Attributes {
  return {
    'temporal.workflow_id': info.workflowExecution?.workflowId,
    'temporal.run_id': info.workflowExecution?.runId,
    'temporal.activity_id': info.activityId,
    'temporal.attempt': info.attempt,
  };
}

type Activity<Arguments extends unknown[], Result> = (...args: Arguments) => Promise<Result>;

/** What a step's second argument is the number of. */
type StepSubject = 'register' | 'publication' | 'edition' | 'correction';

interface StepReports {
  log: Logger;
  /** Left out: none. */
  tracing?: Tracing;
  /** Seconds and outcome (done, failed, cancelled) of each run of a step. */
  observe(step: string, outcome: string, seconds: number): void;
}

/**
 * How failures of a step reach Temporal: a cancelled step as cancelled, our typed errors with their code (and not tried
 * again where that is useless), anything else as it is. One log line and one span per run of a step.
 */
function asActivity<Arguments extends unknown[], Result>(
  step: string,
  subject: StepSubject,
  { log, observe, tracing = noTracing }: StepReports,
  run: Activity<Arguments, Result>,
): Activity<Arguments, Result> {
  const report = async (...args: Arguments) => {
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
  return (...args) => tracing.during(unitOf(step, subject, args), () => report(...args));
}

function unitOf(step: string, subject: StepSubject, [register, number]: readonly unknown[]): Unit {
  return {
    name: step,
    kind: 'internal',
    attributes: {
      ...runOf(Context.current()),
      'padron.register': String(register),
      ...(subject === 'register' ? {} : { [`padron.${subject}`]: Number(number) }),
    },
  };
}

function toFailure(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ApplicationFailure) return error;
  const { code, retryable } = error as Error & { code?: unknown; retryable?: unknown };
  if (typeof code !== 'string' || typeof retryable !== 'boolean') return error;
  return ApplicationFailure.create({ message: error.message, type: code, nonRetryable: !retryable });
}

export interface BeatLimits {
  /** How often the step says that it lives. Far below the workflow's heartbeat timeout. */
  beatEveryMs: number;
  /** A step that reports nothing new for so long hangs: it is aborted and runs again. */
  maxSilenceMs: number;
}

/** Writing a large index to a busy disk reports nothing for minutes; a child that hangs reports nothing for ever. */
export const defaultBeatLimits: BeatLimits = { beatEveryMs: 3_000, maxSilenceMs: 15 * 60 * 1000 };

/**
 * Runs a long step with two watches. Heartbeats say that this worker lives, with the last progress as their details: when
 * they stop, the step runs elsewhere within seconds. Progress says that the step itself does.
 */
async function beating<Result>(
  limits: BeatLimits,
  run: (report: (progress: unknown) => void, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const context = Context.current();
  const silence = new AbortController();
  const hanging = setTimeout(() => {
    silence.abort(new Error(`the step made no progress for ${limits.maxSilenceMs} ms`));
  }, limits.maxSilenceMs);
  // An earlier attempt's details stay until this one has something to say: they tell how far Kafka had acknowledged.
  let last: unknown = context.info.heartbeatDetails;
  const beats = setInterval(() => context.heartbeat(last), limits.beatEveryMs);
  try {
    const report = (progress: unknown) => {
      last = progress;
      hanging.refresh();
      context.heartbeat(progress);
    };
    return await run(report, AbortSignal.any([context.cancellationSignal, silence.signal]));
  } finally {
    clearInterval(beats);
    clearTimeout(hanging);
  }
}
