import { readdirSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { beforeAll, expect, it } from 'vitest';
import { quietTemporal, workflowBundle } from '../support/engines/temporal.ts';
import { type History, readHistory } from './histories.ts';

// Histories recorded with earlier releases by record-delivery.ts and record-publication.ts. Today's code must take the
// same decisions: a run that is open during a deploy would otherwise be stuck.
const folder = new URL('./histories/', import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith('.json'));

beforeAll(quietTemporal);

async function replay(history: History): Promise<void> {
  await Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, history);
}

const read = (file: string) => readHistory(new URL(file, folder));

it('there are histories of every workflow', () => {
  expect(files.filter((file) => file.startsWith('delivery-')).length).toBeGreaterThanOrEqual(5);
  for (const workflow of ['fetch', 'publish', 'reconcile']) {
    expect(files.some((file) => file.startsWith('publication-') && file.endsWith(`-${workflow}.json`))).toBe(true);
  }
});

it.each(files)('%s', (file) => replay(read(file)));

it('a delivery history of other decisions is refused, so the replays can fail', async () => {
  const history = read(files.find((file) => file.startsWith('delivery-') && file.includes('retried'))!);
  const scheduled = history.events!.filter((event) => event.activityTaskScheduledEventAttributes);
  expect(scheduled).toHaveLength(4);
  scheduled[1]!.activityTaskScheduledEventAttributes!.activityType!.name = 'anotherActivity';
  await expect(replay(history)).rejects.toThrow();
});

it('a publication history of other decisions is refused, so the replays can fail', async () => {
  const history = read(files.find((file) => file.startsWith('publication-') && file.endsWith('-publish.json'))!);
  const compared = history.events!.find(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'comparePublication',
  );
  compared!.activityTaskScheduledEventAttributes!.activityType!.name = 'anotherActivity';
  await expect(replay(history)).rejects.toThrow();
});
