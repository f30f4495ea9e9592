import { createRequire } from 'node:module';
import { type ProxyTracerProvider, propagation, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api';
import type { TracerProvider } from '@opentelemetry/sdk-trace';
import pino from 'pino';
import { afterEach, expect, it, vi } from 'vitest';
import { parseConfiguration, tracingBlock } from '../../../../../pipelines/runtime/config.ts';
import { inSharedSpan, inSpan, traceLogFields } from '../../../../../pipelines/runtime/tracing/span.ts';
import { startTracing } from '../../../../../pipelines/runtime/tracing/start.ts';
import { type CollectedSpan, type Collector, startCollector } from '../../../../support/process/collector.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function collector(answers?: Parameters<typeof startCollector>[0]): Promise<Collector> {
  const made = await startCollector(answers);
  ends.push(made.close);
  return made;
}

const silentLog = pino({ level: 'silent' });

function start(environment: Record<string, string>, log = silentLog): Promise<() => Promise<void>> {
  return startTracing('test', parseConfiguration(tracingBlock, environment), log);
}

/** What the collector has once the work is done and the process has stopped. */
async function traced(
  work: () => Promise<unknown>,
  environment: Record<string, string> = {},
): Promise<{ spans: CollectedSpan[]; text: string }> {
  const target = await collector();
  const stop = await start({ ...target.environment, ...environment });
  await work();
  await flush();
  await stop();
  return { spans: target.spans(), text: target.text() };
}

/** Waits until all spans have arrived. A stopping process waits only a second for that. */
function flush(): Promise<void> {
  const provider = (trace.getTracerProvider() as ProxyTracerProvider).getDelegate();
  return (provider as TracerProvider).forceFlush();
}

/** Lets the event loop turn, so that what runs next runs in another callback. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const named = (spans: readonly CollectedSpan[], name: string) => spans.find((span) => span.name === name)!;
const nothing = async () => {};

it('a span within another is its child, across waits; one beside it is not', async () => {
  const { spans } = await traced(async () => {
    const outer = inSpan('outer', {}, async (span) => {
      await turn();
      await inSpan('inner', { attributes: { 'padron.edition': 7 } }, turn);
      span.setAttributes({ 'padron.rows': 3, left: undefined }).updateName('renamed');
    });
    await Promise.all([outer, inSpan('beside', {}, turn)]);
  });
  const [inner, outer, beside] = ['inner', 'renamed', 'beside'].map((name) => named(spans, name));
  expect(spans).toHaveLength(3);
  expect(outer).toMatchObject({ service: 'padron-test', attributes: { 'padron.rows': 3 } });
  expect(outer!.parentSpanId).toBeUndefined();
  expect(inner).toMatchObject({
    traceId: outer!.traceId,
    parentSpanId: outer!.spanId,
    attributes: { 'padron.edition': 7 },
  });
  expect(beside!.traceId).not.toBe(outer!.traceId);
});

it("an error passes through; the span has its class, and not its text, which may quote a person's row", async () => {
  const error = Object.assign(new Error('row 10990000013 PERSONA PLANTADA'), { code: 'insert_failed' });
  const { spans, text } = await traced(async () => {
    await expect(inSpan('fails', {}, () => Promise.reject(error))).rejects.toBe(error);
    await expect(inSpan('throws', {}, () => Promise.reject(new RangeError('10990000013')))).rejects.toThrow();
  });
  expect(named(spans, 'fails')).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': 'insert_failed' } });
  expect(named(spans, 'throws').attributes).toEqual({ 'error.type': 'RangeError' });
  expect(text).not.toMatch(/10990000013|PLANTADA/);
});

it('work that several spans wait for is a child of the first and linked with the others from both sides', async () => {
  const { spans } = await traced(async () => {
    const waiting: (Span | undefined)[] = [undefined];
    let serve = () => {};
    const served = new Promise<void>((resolve) => {
      serve = resolve;
    });
    const ask = (name: string) =>
      inSpan(name, {}, async () => {
        // Twice, as a batch of RUCs does.
        waiting.push(trace.getActiveSpan(), trace.getActiveSpan());
        await served;
      });
    const asking = [ask('first'), ask('second'), ask('third')];
    await inSharedSpan('shared', {}, waiting, async () => serve());
    await Promise.all(asking);
  });
  const [shared, first, second, third] = ['shared', 'first', 'second', 'third'].map((name) => named(spans, name)!);
  expect(shared).toMatchObject({ traceId: first!.traceId, parentSpanId: first!.spanId });
  const ids = ({ traceId, spanId }: { traceId: string; spanId: string }) => ({ traceId, spanId });
  expect(shared!.links.map(ids)).toEqual([ids(second!), ids(third!)]);
  expect(first!.links).toEqual([]);
  for (const other of [second, third]) expect(other!.links.map(ids)).toEqual([ids(shared!)]);
});

const traceId = '0af7651916cd43dd8448eb211c80319c';

it("a caller's traceparent and its sampling flag are followed; a malformed one is ignored", async () => {
  const { spans } = await traced(async () => {
    const ask = (name: string, traceparent: string) =>
      inSpan(name, {}, () => inSpan(`in ${name}`, {}, nothing), propagation.extract(ROOT_CONTEXT, { traceparent }));
    await ask('wanted', `00-${traceId}-b7ad6b7169203331-01`);
    await ask('unwanted', `00-${traceId}-b7ad6b7169203331-00`);
    await ask('broken', '00-00000000000000000000000000000000-b7ad6b7169203331-01');
    await ask('doubled', `00-${traceId}-b7ad6b7169203331-01, 00-${traceId}-b7ad6b7169203331-01`);
  });
  expect(named(spans, 'wanted')).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331' });
  expect(named(spans, 'in wanted')).toMatchObject({ traceId, parentSpanId: named(spans, 'wanted').spanId });
  expect(named(spans, 'unwanted')).toBeUndefined();
  for (const name of ['broken', 'doubled']) {
    expect(named(spans, name).traceId).not.toBe(traceId);
    expect(named(spans, name).parentSpanId).toBeUndefined();
  }
});

it('the standard samplers keep their share', async () => {
  const kept = async (sampler: string, argument: string) => {
    const work = async () => {
      for (let index = 0; index < 200; index += 1) await inSpan('span', {}, nothing);
    };
    const settings = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument };
    return (await traced(work, settings)).spans.length;
  };
  expect(await kept('always_off', '1')).toBe(0);
  expect(await kept('traceidratio', '0')).toBe(0);
  expect(await kept('parentbased_traceidratio', '1')).toBe(200);
  const half = await kept('parentbased_traceidratio', '0.5');
  expect(half).toBeGreaterThan(50);
  expect(half).toBeLessThan(150);
});

it('a log line has the trace id of the span that writes it, and none outside of a span', async () => {
  await traced(async () => {
    expect(traceLogFields()).toEqual({});
    const caller = propagation.extract(ROOT_CONTEXT, { traceparent: `00-${traceId}-b7ad6b7169203331-01` });
    const work = async () => {
      await turn();
      expect(traceLogFields()).toEqual({ trace_id: traceId });
    };
    await inSpan('span', {}, work, caller);
  });
});

it.each(['refuses', 'hangs', 'is away'] as const)('a collector that %s delays no work and no stop', async (how) => {
  const target = await collector(how === 'is away' ? 'takes' : how);
  if (how === 'is away') await target.close();
  const logged: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
  const stop = await start({ ...target.environment, OTEL_EXPORTER_OTLP_ENDPOINT: target.url }, log);
  let isTurned = false;
  setImmediate(() => {
    isTurned = true;
  });
  for (let index = 0; index < 2_000; index += 1) await inSpan('span', {}, nothing);
  // A span that waited for an export would have let the event loop turn.
  expect(isTurned).toBe(false);
  if (how === 'refuses') {
    await vi.waitFor(() => expect(logged).toHaveLength(1), 20_000);
    for (let index = 0; index < 2_000; index += 1) await inSpan('span', {}, nothing);
  }
  const stopped = performance.now();
  await stop();
  // An export alone has ten seconds. A stopping process waits one second for it.
  expect(performance.now() - stopped).toBeLessThan(9_000);
  // At most one line a minute, not one for every export.
  expect(logged.length).toBeLessThanOrEqual(1);
});

it('sends protobuf to /v1/traces with the headers that are set, unless set otherwise', async () => {
  const target = await collector();
  const stop = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: `${target.url}/base/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20secret,x-other=2',
  });
  await inSpan('span', {}, nothing);
  await flush();
  await stop();
  expect(target.requests).toHaveLength(1);
  expect(target.requests[0]).toMatchObject({
    path: '/base/v1/traces',
    headers: { 'content-type': 'application/x-protobuf', 'x-key': 'a secret', 'x-other': '2' },
  });
  expect(target.text()).toContain('padron-test');
  // This shows that the check in off.test.ts would see a loaded SDK.
  expect(Object.keys(createRequire(import.meta.url).cache).join()).toContain('@opentelemetry/sdk-trace/');
});

it('wrong settings are named', () => {
  const wrong = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_HEADERS: 'only-a-name',
    OTEL_TRACES_SAMPLER: 'sometimes',
    OTEL_TRACES_SAMPLER_ARG: '2',
  };
  for (const [name, value] of Object.entries(wrong))
    expect(() => parseConfiguration(tracingBlock, { [name]: value })).toThrow(name);
});
