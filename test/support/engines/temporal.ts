import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, type WorkflowBundle } from '@temporalio/worker';
import { pino } from 'pino';
import { bundleWorkflows } from '../../../workflows/bundle.ts';
import { freePort } from '../process/free-port.ts';
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

/**
 * A Temporal server that skips the time in which a workflow waits. The SDK gives a server five seconds for its start,
 * which is too short on a busy machine. So the server is started here, and the SDK starts `sleep` in its place.
 */
export async function startTimeSkippingServer(): Promise<TestWorkflowEnvironment> {
  quietTemporal();
  const port = await freePort();
  const server = spawn(await temporalTestServerExecutable(() => {}), [String(port)], { stdio: 'ignore' });
  while (!(await accepts(port))) {
    if (server.exitCode !== null) throw new Error(`Temporal's test server ended with ${server.exitCode}`);
    await sleep(100);
  }
  const environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { port, executable: { type: 'existing-path', path: '/bin/sleep' } },
  });
  const teardown = environment.teardown.bind(environment);
  environment.teardown = async () => {
    await teardown();
    server.kill();
  };
  return environment;
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}
