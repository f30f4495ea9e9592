import type { Context } from '@temporalio/activity';
import type { Attributes } from '../pipelines/runtime/tracing/tracing.ts';

/** Of which run of which workflow an activity is, for traces: the ids by which Temporal finds it. */
export function runOf({ info }: Context): Attributes {
  return {
    'temporal.workflow_id': info.workflowExecution?.workflowId,
    'temporal.run_id': info.workflowExecution?.runId,
    'temporal.activity_id': info.activityId,
    'temporal.attempt': info.attempt,
  };
}
