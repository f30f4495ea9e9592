import { type Client, WorkflowIdConflictPolicy } from '@temporalio/client';
import type { RegisterName } from '../../schemas/registers.ts';
import { archivedSignalName, publicationQueue, publishWorkflowId, type RegisterInput } from './messages.ts';

/** Starts `publish`, or tells the running one to look again. */
export async function wakePublish(client: Client, register: RegisterName): Promise<void> {
  const input: RegisterInput = { register };
  await client.workflow.signalWithStart('publish', {
    workflowId: publishWorkflowId(register),
    taskQueue: publicationQueue,
    args: [input],
    signal: archivedSignalName,
  });
}

/** Starts `publish` where none runs; a running one is left alone, since it finds all open work by itself. */
export async function startPublish(client: Client, register: RegisterName): Promise<void> {
  const input: RegisterInput = { register };
  await client.workflow.start('publish', {
    workflowId: publishWorkflowId(register),
    taskQueue: publicationQueue,
    args: [input],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
  });
}
