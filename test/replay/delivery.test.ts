import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  bundleWorkflowCode,
  DefaultLogger,
  Runtime,
  Worker,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { beforeAll, expect, it } from 'vitest';
import { readHistory } from '../support/publication/histories.ts';

// Histories recorded by record-delivery.ts with an earlier release: today's code must take the same decisions, or runs that
// are open during a deploy would be stuck without a word.
const folder = new URL('./histories/', import.meta.url);
const files = readdirSync(folder).filter((file) => /^delivery-.*\.json$/.test(file));
let workflowBundle: WorkflowBundleWithSourceMap;

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  workflowBundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../workflows/delivery/workflow.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  });
});

const read = (file: string) => readHistory(new URL(file, folder));

it('there are histories to replay', () => expect(files.length).toBeGreaterThanOrEqual(5));

it.each(files)('%s', async (file) => {
  await Worker.runReplayHistory({ workflowBundle }, read(file));
});

it('a history of other decisions is refused, so the replays can fail', async () => {
  const history = read(files.find((file) => file.includes('retried'))!);
  const scheduled = history.events!.filter((event) => event.activityTaskScheduledEventAttributes);
  expect(scheduled).toHaveLength(4);
  scheduled[1]!.activityTaskScheduledEventAttributes!.activityType!.name = 'anotherActivity';
  await expect(Worker.runReplayHistory({ workflowBundle }, history)).rejects.toThrow();
});
