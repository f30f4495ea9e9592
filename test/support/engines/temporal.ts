import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, type WorkflowBundle } from '@temporalio/worker';
import { pino } from 'pino';
import { bundleWorkflows } from '../../../workflows/bundle.ts';
import { temporalTestServerExecutable } from './programs.ts';

let isInstalled = false;
let bundle: Promise<WorkflowBundle> | undefined;

/** Makes Temporal's runtime log errors only. It takes its options once per process, before the first connection. */
export function quietTemporal(): void {
  if (!isInstalled) Runtime.install({ logger: new DefaultLogger('ERROR') });
  isInstalled = true;
}

/** All workflows, bundled once per process: bundling takes two seconds, and some tests start a worker each. */
export function workflowBundle(): Promise<WorkflowBundle> {
  bundle ??= bundleWorkflows(pino({ level: 'silent' }));
  return bundle;
}

/** A Temporal server that skips the time in which a workflow waits. */
export async function startTimeSkippingServer(): Promise<TestWorkflowEnvironment> {
  quietTemporal();
  const path = await temporalTestServerExecutable(() => {});
  return await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path } },
  });
}
