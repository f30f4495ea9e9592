import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { inSpan } from '../pipelines/runtime/tracing/span.ts';

/** Runs each activity in a span of its name, with the ids by which Temporal finds its run. */
export function activitySpans({ info }: Context): ActivityInterceptors {
  const attributes = {
    'temporal.workflow_id': info.workflowExecution?.workflowId,
    'temporal.run_id': info.workflowExecution?.runId,
    'temporal.activity_id': info.activityId,
    'temporal.attempt': info.attempt,
  };
  return { inbound: { execute: (input, next) => inSpan(info.activityType, { attributes }, () => next(input)) } };
}
