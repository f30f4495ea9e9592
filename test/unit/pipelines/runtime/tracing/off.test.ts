import { execFileSync } from 'node:child_process';
import { trace } from '@opentelemetry/api';
import pino from 'pino';
import { expect, it } from 'vitest';
import { parseConfiguration, tracingBlock } from '../../../../../pipelines/runtime/config.ts';
import { inSpan, traceLogFields } from '../../../../../pipelines/runtime/tracing/span.ts';
import { startTracing } from '../../../../../pipelines/runtime/tracing/start.ts';

it('without a collector the work runs as it is', async () => {
  const stop = await startTracing('test', parseConfiguration(tracingBlock, {}), pino({ level: 'silent' }));
  const result = {};
  const work = async () => {
    expect(trace.getActiveSpan()).toBeUndefined();
    expect(traceLogFields()).toEqual({});
    return result;
  };
  expect(await inSpan('span', {}, work)).toBe(result);
  await stop();
});

/** The SDK's files that a new process has loaded once tracing has started. This process may hold those of another test. */
function loadedWith(environment: Record<string, string>): string[] {
  const script = `
    import { createRequire } from 'node:module';
    import { parseConfiguration, tracingBlock } from './pipelines/runtime/config.ts';
    import { makeLogger } from './pipelines/runtime/log.ts';
    import { startTracing } from './pipelines/runtime/tracing/start.ts';
    const stop = await startTracing('test', parseConfiguration(tracingBlock, process.env), makeLogger('test', 'silent'));
    console.log(JSON.stringify(Object.keys(createRequire(process.cwd() + '/').cache)));
    await stop();`;
  const stdout = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script], {
    env: { PATH: process.env.PATH, ...environment },
    encoding: 'utf8',
  });
  const files = (JSON.parse(stdout) as string[]).filter((file) => file.includes('@opentelemetry/'));
  return files.filter((file) => !file.includes('@opentelemetry/api/'));
}

it("OpenTelemetry's SDK is loaded with a collector and not without", () => {
  expect(loadedWith({})).toEqual([]);
  expect(loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })).not.toEqual([]);
}, 120_000);
