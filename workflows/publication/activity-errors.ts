import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import type { Logger } from '../../deploy/runtime/log.ts';

type Activity<Arguments extends unknown[], Result> = (...args: Arguments) => Promise<Result>;

/**
 * How failures of a step reach Temporal: a cancelled step as cancelled, our typed errors with their code (and not tried
 * again where that is useless), anything else as it is. One log line per run of a step.
 */
export function asActivity<Arguments extends unknown[], Result>(
  step: string,
  log: Logger,
  observe: (step: string, outcome: string, seconds: number) => void,
  run: Activity<Arguments, Result>,
): Activity<Arguments, Result> {
  return async (...args) => {
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
