import { proxyActivities } from '@temporalio/workflow';

const { greeting } = proxyActivities<{ greeting(name: string): Promise<string> }>({
  startToCloseTimeout: '30 seconds',
});

/** The smallest workflow that needs a worker for a workflow task and for an activity. */
export async function greet(name: string): Promise<string> {
  return greeting(name);
}
