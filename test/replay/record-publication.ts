import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { makeTemporal } from '../../pipelines/runtime/temporal.ts';
import { FakeSteps } from '../support/publication/steps.ts';
import { writeHistory } from './histories.ts';

/**
 * Records the histories of `fetch`, `publish` and `reconcile` that replay.test.ts replays, on a Temporal server:
 *   node --import tsx test/replay/record-publication.ts <host:port> <name of the release>
 * Run it for each release and never overwrite a file: a new release must still replay the old histories.
 */
const [address, release] = process.argv.slice(2);
if (address === undefined || release === undefined) throw new Error('give the address and a name for the release');
const folder = fileURLToPath(new URL('./histories', import.meta.url));
const taskQueue = `record-${process.pid}`;
const register = 'padron_reducido';

const busy = new FakeSteps();
busy.probes = [
  ApplicationFailure.retryable('the site answered 503', 'source_unavailable'),
  { outcome: 'new', publicationId: 1 },
];
busy.fetches = [{ outcome: 'archived', publicationId: 1 }];
busy.lost = [1];
busy.head = 1;
busy.waitsPerEdition = { notMaterialised: 2, notNotified: 1 };
busy.waiting.push(
  { id: 1, endsAt: null, freezes: ['head_moved'] },
  { id: 2, endsAt: 'judge' },
  { id: 3, endsAt: 'verify' },
);
busy.corrections.push({ id: 1, endsAt: null, freezes: ['head_moved'] }, { id: 2, endsAt: 'compare' });
busy.checks = [{ outcome: 'equal' }, ApplicationFailure.nonRetryable('a change file is gone', 'not_found')];

const client = await makeTemporal(address, 'default');
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  connection,
  taskQueue,
  workflowsPath: fileURLToPath(new URL('../../workflows/workflows.ts', import.meta.url)),
  activities: busy.activities(),
});
await mkdir(folder, { recursive: true });
await worker.runUntil(async () => {
  for (const type of ['fetch', 'publish', 'reconcile']) {
    const handle = await client.workflow.start(type, {
      taskQueue,
      workflowId: `${type}/${register}-${process.pid}`,
      args: [type === 'reconcile' ? { registers: [register, 'padron_mensual'] } : { register }],
    });
    if (type === 'publish') await handle.signal('archived').catch(() => {});
    await handle.result();
    writeHistory(`${folder}/publication-${release}-${type}.json`, await handle.fetchHistory());
  }
});
await connection.close();
await client.connection.close();
