import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type WorkflowBundle } from '@temporalio/worker';
import type { Logger } from '../pipelines/runtime/log.ts';
import { temporalLogger } from './temporal-log.ts';

/** All workflows in one bundle: bundling takes seconds, and each worker would do it again for its own queue. */
export async function bundleWorkflows(log: Logger): Promise<WorkflowBundle> {
  const workflowsPath = fileURLToPath(new URL('./workflows.ts', import.meta.url));
  return await bundleWorkflowCode({ workflowsPath, logger: temporalLogger(log) });
}
