import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker, type WorkflowBundle } from '@temporalio/worker';
import { beforeAll, expect, it } from 'vitest';
import { readHistory } from '../support/publication/histories.ts';

// Histories recorded by record-publication.ts with an earlier release: today's code must take the same decisions, or a
// publication that is on its way during a deploy would be stuck.
const folder = new URL('./histories/', import.meta.url);
const files = readdirSync(folder).filter((file) => /^publication-.*\.json$/.test(file));
let workflowBundle: WorkflowBundle;

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  workflowBundle = await bundleWorkflowCode({
    // The same entry that the worker bundles.
    workflowsPath: fileURLToPath(new URL('../../workflows/workflows.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  });
});

it('there are histories of all three workflows', () => {
  expect(files.some((file) => file.endsWith('-fetch.json'))).toBe(true);
  expect(files.some((file) => file.endsWith('-publish.json'))).toBe(true);
  expect(files.some((file) => file.endsWith('-reconcile.json'))).toBe(true);
});

it.each(files)('%s', async (file) => {
  await Worker.runReplayHistory({ workflowBundle }, readHistory(new URL(file, folder)));
});

it('a history of other decisions is refused, so the replays can fail', async () => {
  const history = readHistory(new URL(files.find((file) => file.endsWith('-publish.json'))!, folder));
  const compared = history.events!.find(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'comparePublication',
  );
  compared!.activityTaskScheduledEventAttributes!.activityType!.name = 'anotherActivity';
  await expect(Worker.runReplayHistory({ workflowBundle }, history)).rejects.toThrow();
});
