import type { Client } from '@temporalio/client';

/** The delivery workflow by its names: pipelines do not import workflows. */
export const deliveryWorkflow = {
  type: 'deliver',
  taskQueue: 'delivery',
  signal: 'wake',
  idOf: (webhookId: string) => `delivery/${webhookId}`,
} as const;

/** Starts each webhook's workflow, or wakes the running one. Rejects when Temporal did not take one of them. */
export type Wake = (webhookIds: readonly string[]) => Promise<void>;

/**
 * Wakes at most `inParallel` at a time. Losing a wake-up loses nothing: what is due stands in PostgreSQL, and the sweeper
 * of the worker wakes what is overdue.
 */
export function makeWake(client: Client, options: { inParallel: number; deadlineMs: number }): Wake {
  return async (webhookIds) => {
    const waiting = [...webhookIds];
    const failures: unknown[] = [];
    const runOne = async () => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        await wakeOne(client, id, options.deadlineMs).catch((error: unknown) => failures.push(error));
      }
    };
    await Promise.all(Array.from({ length: Math.min(options.inParallel, webhookIds.length) }, runOne));
    if (failures.length > 0) throw failures[0];
  };
}

async function wakeOne(client: Client, webhookId: string, deadlineMs: number): Promise<void> {
  await client.withDeadline(Date.now() + deadlineMs, () =>
    client.workflow.signalWithStart(deliveryWorkflow.type, {
      workflowId: deliveryWorkflow.idOf(webhookId),
      taskQueue: deliveryWorkflow.taskQueue,
      args: [{ webhookId }],
      signal: deliveryWorkflow.signal,
      signalArgs: [],
      workflowTaskTimeout: '10 seconds',
    }),
  );
}
