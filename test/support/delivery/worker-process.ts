import { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { makePool } from '../../../pipelines/runtime/postgres.ts';
import { parseKeyRing } from '../../../pipelines/runtime/secrets.ts';
import { makeTemporal } from '../../../pipelines/runtime/temporal.ts';
import { bundleWorkflows } from '../../../workflows/bundle.ts';
import { makeDeliveryWorker } from '../../../workflows/delivery/worker.ts';
import { quickSettings } from './settings.ts';

/** A delivery worker that a test can kill: `node --import tsx worker-process.ts <json>`. */
const options = z
  .object({
    databaseUrl: z.string(),
    temporalAddress: z.string(),
    namespace: z.string(),
    keyRing: z.string(),
    caPem: z.string(),
    /** `default` takes the product's limits, `quick` the short ones of tests. */
    settings: z.enum(['quick', 'default']).default('quick'),
    poolSize: z.number().default(5),
  })
  .parse(JSON.parse(process.argv[2]!));

const log = pino({ level: 'silent' });
const connection = await NativeConnection.connect({ address: options.temporalAddress });
const worker = await makeDeliveryWorker(connection, {
  pool: makePool(options.databaseUrl, 'delivery-worker', options.poolSize),
  client: await makeTemporal(options.temporalAddress, options.namespace),
  namespace: options.namespace,
  keyRing: parseKeyRing(options.keyRing),
  policy: { allowPrivateTargets: true, extraCaPem: options.caPem },
  version: '0.0.0-test',
  log,
  metrics: new Registry(),
  workflowBundle: await bundleWorkflows(log),
  settings: options.settings === 'quick' ? quickSettings : {},
});
process.stdout.write('running\n');
await worker.run();
