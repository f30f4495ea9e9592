import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { parseConfiguration } from '../../../../../pipelines/runtime/config.ts';
import { startTracing } from '../../../../../pipelines/runtime/tracing/start.ts';
import { noTracing, tracingBlock } from '../../../../../pipelines/runtime/tracing/tracing.ts';

it('without a collector the work runs as it is', async () => {
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
});

/** The files of OpenTelemetry that a new process has loaded once tracing has started. This process may hold those of another test. */
function loadedWith(environment: Record<string, string>): string[] {
  const script = `
    import { createRequire } from 'node:module';
    import { parseConfiguration } from './pipelines/runtime/config.ts';
    import { startTracing } from './pipelines/runtime/tracing/start.ts';
    import { tracingBlock } from './pipelines/runtime/tracing/tracing.ts';
    const { stop } = await startTracing('test', { ...parseConfiguration(tracingBlock, process.env), LOG_LEVEL: 'silent' });
    console.log(JSON.stringify(Object.keys(createRequire(process.cwd() + '/').cache)));
    await stop();`;
  const stdout = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script], {
    env: { PATH: process.env.PATH, ...environment },
    encoding: 'utf8',
  });
  return (JSON.parse(stdout) as string[]).filter((file) => file.includes('@opentelemetry'));
}

it('OpenTelemetry is loaded with a collector and not without', () => {
  expect(loadedWith({})).toEqual([]);
  expect(loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })).not.toEqual([]);
}, 120_000);
