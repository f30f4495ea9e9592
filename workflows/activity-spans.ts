import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { inSpan } from '../pipelines/runtime/tracing/span.ts';

/** Runs each activity in a trace span that has the activity's name and the ids of its Temporal run. */
export function activitySpans({ info }: Context): ActivityInterceptors {
  const attributes = {
    'temporal.workflow_id': info.workflowExecution?.workflowId,
    'temporal.run_id': info.workflowExecution?.runId,
    'temporal.activity_id': info.activityId,
    'temporal.attempt': info.attempt,
  };
  return { inbound: { execute: (input, next) => inSpan(info.activityType, { attributes }, () => next(input)) } };
}
