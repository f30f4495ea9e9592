import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { parseConfiguration } from '../../../../../pipelines/runtime/config.ts';
import { startTracing } from '../../../../../pipelines/runtime/tracing/start.ts';
import { noTracing, tracingBlock } from '../../../../../pipelines/runtime/tracing/tracing.ts';

// In a file of its own: what another test has loaded would be found here.
it('without a collector nothing is loaded and the work runs as it is', async () => {
  const config = { ...parseConfiguration(tracingBlock, {}), LOG_LEVEL: 'silent' };
  const { tracing, stop } = await startTracing('test', config);
  expect(tracing).toBe(noTracing);
  expect(tracing.logFields).toBeUndefined();
  const result = {};
  const work = async () => {
    expect(tracing.current()).toBeUndefined();
    return result;
  };
  expect(await tracing.during({ name: 'unit', kind: 'internal' }, work)).toBe(result);
  await stop();
  const loaded = Object.keys(createRequire(import.meta.url).cache);
  expect(loaded.filter((file) => file.includes('@opentelemetry'))).toEqual([]);
});
