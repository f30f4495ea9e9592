import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { DeliveryActivities } from '../../workflows/delivery/activities.ts';
import { type RoundResult, slowQueueName } from '../../workflows/delivery/messages.ts';
import { writeHistory } from './histories.ts';

/**
 * Records the delivery histories that replay.test.ts replays, with a real worker on a Temporal server:
 *   node --import tsx test/replay/record-delivery.ts <host:port> <name of the release>
 * Run it under a new name when the workflow changes on purpose. Keep the older files while runs of that code may be open,
 * which is four days.
 */
const [address, release] = process.argv.slice(2);
if (address === undefined || release === undefined) throw new Error('give the address and a name for the release');
const folder = fileURLToPath(new URL('./histories', import.meta.url));
const taskQueue = `record-delivery-${Date.now()}`;
const client = new Client({ connection: await Connection.connect({ address }) });
const connection = await NativeConnection.connect({ address });

const round = (nextInMs: number | null, parts: Partial<RoundResult> = {}): RoundResult => ({
  webhook: 'activo',
  nextInMs,
  rate: { emptyAtMs: 1_795_000_000_000 },
  delivered: 1,
  failed: 0,
  ...parts,
});

/** One file per story: what the rounds return, and when the workflow is woken. */
const stories: Record<string, { rounds: RoundResult[]; wakeAfterRound?: number; wakeDuringRound?: number }> = {
  delivered: { rounds: [round(null)] },
  retried: { rounds: [round(300, { failed: 1 }), round(700, { failed: 1 }), round(0), round(null)] },
  woken: { rounds: [round(60_000), round(null)], wakeAfterRound: 1 },
  'woken-at-the-end': { rounds: [round(null), round(null)], wakeDuringRound: 1 },
  slow: { rounds: [round(0, { slow: true }), round(300, { slow: true }), round(0), round(null)] },
  paused: { rounds: [round(200), round(null, { webhook: 'pausado' })] },
};

let played = 0;
let story: (typeof stories)[string] = { rounds: [] };
const deliverRound: DeliveryActivities['deliverRound'] = async ({ webhookId }) => {
  const result = story.rounds[played]!;
  played += 1;
  const handle = client.workflow.getHandle(`delivery/${webhookId}`);
  if (story.wakeDuringRound === played) await handle.signal('wake');
  if (story.wakeAfterRound === played) setTimeout(() => void handle.signal('wake'), 500);
  return result;
};
const worker = await Worker.create({
  connection,
  taskQueue,
  workflowsPath: fileURLToPath(new URL('../../workflows/delivery/workflow.ts', import.meta.url)),
  activities: { deliverRound } satisfies DeliveryActivities,
});
const slowWorker = await Worker.create({ connection, taskQueue: slowQueueName, activities: { deliverRound } });
const slowRunning = slowWorker.run();
await worker.runUntil(async () => {
  for (const [title, next] of Object.entries(stories)) {
    story = next;
    played = 0;
    const handle = await client.workflow.signalWithStart('deliver', {
      workflowId: `delivery/wh_${title}`,
      taskQueue,
      args: [{ webhookId: `wh_${title}` }],
      signal: 'wake',
    });
    await handle.result();
    const first = client.workflow.getHandle(handle.workflowId, handle.signaledRunId);
    mkdirSync(folder, { recursive: true });
    writeHistory(`${folder}/delivery-${release}-${title}.json`, await first.fetchHistory());
  }
});
slowWorker.shutdown();
await slowRunning;
await connection.close();
await client.connection.close();
