import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import type { Logger } from '../../pipelines/runtime/log.ts';
import { noTracing, type Tracing, type Unit } from '../../pipelines/runtime/tracing/tracing.ts';
import { runOf } from '../activity-run.ts';

type Activity<Arguments extends unknown[], Result> = (...args: Arguments) => Promise<Result>;

/** What a step's second argument is the number of. */
export type StepSubject = 'register' | 'publication' | 'edition' | 'correction';

export interface StepReports {
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
export function asActivity<Arguments extends unknown[], Result>(
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
