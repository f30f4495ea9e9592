import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { type ExportResult, ExportResultCode, parseKeyPairsIntoRecord, parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '../log.ts';
import type { Attributes, OpenUnit, RunningTracing, Tracing, TracingConfiguration, Unit } from './tracing.ts';

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

/** Units as spans of a tracer. Which unit runs is known by the chain of calls: nothing global, and nobody hands it on. */
class Recording implements Tracing {
  readonly #tracer: Tracer;
  readonly #running = new AsyncLocalStorage<SpanUnit>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  async during<Result>(unit: Unit, work: (unit: OpenUnit) => Promise<Result>): Promise<Result> {
    const { parent, others } = this.#placeOf(unit);
    const span = this.#tracer.startSpan(
      unit.name,
      {
        kind: kinds[unit.kind],
        ...(unit.attributes && { attributes: unit.attributes }),
        links: others.map((other) => ({ context: other.span.spanContext() })),
      },
      parent,
    );
    const open = new SpanUnit(span);
    // From both sides: who looks at one of the others finds what it waited for.
    for (const other of others) other.span.addLink({ context: span.spanContext() });
    try {
      return await this.#running.run(open, () => work(open));
    } catch (error) {
      open.fail(typeOf(error));
      throw error;
    } finally {
      span.end();
    }
  }

  current(): OpenUnit | undefined {
    return this.#running.getStore();
  }

  readonly logFields = (): { trace_id?: string } => {
    const running = this.#running.getStore();
    return running === undefined ? {} : { trace_id: running.span.spanContext().traceId };
  };

  #placeOf({ sharedBy, traceparent }: Unit): { parent: Context; others: readonly SpanUnit[] } {
    if (sharedBy !== undefined) {
      const sharers = [...new Set(sharedBy)].filter((sharer) => sharer instanceof SpanUnit);
      // One that is kept, if any is: else all that is kept would point to a span that is not.
      const first = sharers.find(({ isRecorded }) => isRecorded) ?? sharers[0];
      const others = sharers.filter((sharer) => sharer !== first && sharer.isRecorded);
      return { parent: within(first), others };
    }
    const running = this.#running.getStore();
    const remote = running === undefined && traceparent !== undefined ? parseTraceParent(traceparent) : null;
    if (remote === null) return { parent: within(running), others: [] };
    return { parent: trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true }), others: [] };
  }
}

class SpanUnit implements OpenUnit {
  readonly span: Span;

  constructor(span: Span) {
    this.span = span;
  }

  get isRecorded(): boolean {
    return this.span.isRecording();
  }

  describe(attributes: Attributes, name?: string): void {
    this.span.setAttributes(attributes);
    if (name !== undefined) this.span.updateName(name);
  }

  fail(type: string): void {
    this.span.setAttribute('error.type', type);
    this.span.setStatus({ code: SpanStatusCode.ERROR });
  }
}

function within(unit: SpanUnit | undefined): Context {
  return unit === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, unit.span);
}

/** Its class and never its message, which may quote a row or what a caller sent. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as Error & { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}

const limits = {
  /** Units that wait to be sent: some 20 MB. What comes beyond them is dropped and counted in the log. */
  maxQueueSize: 8_192,
  maxExportBatchSize: 512,
  scheduledDelayMillis: 2_000,
  /** Of one export with its repeats. */
  exportTimeoutMillis: 10_000,
};
const spanLimits = {
  attributeValueLengthLimit: 256,
  attributeCountLimit: 32,
  linkCountLimit: 128,
  eventCountLimit: 0,
  attributePerEventCountLimit: 0,
  attributePerLinkCountLimit: 0,
};
/** Of a stop: a collector that hangs keeps no process. */
const flushAtMostMs = 1_000;
const tellEveryMs = 60_000;

/** Spans to a collector, in batches and beside the work: whatever becomes of them, no unit waits for it or fails by it. */
export function exportTraces(
  process: string,
  config: TracingConfiguration & { endpoint: string },
  log: Logger,
): RunningTracing {
  const tell = makeTell(log);
  // The library says what it drops and which of its variables it cannot read in this one place, for all that use it.
  diag.setLogger(
    { error() {}, warn: (message) => tell({ library: message }), info() {}, debug() {}, verbose() {} },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const provider = new TracerProvider({
    sampler: samplerOf(config),
    spanLimits,
    resource: resourceOf(process),
    spanProcessors: [new BatchSpanProcessor({ ...limits, exporter: telling(exporterOf(config), tell) })],
  });
  return {
    tracing: new Recording(provider.getTracer('padron')),
    // A flush that fails is told by the exporter.
    stop: () => Promise.race([provider.shutdown().catch(() => {}), sleep(flushAtMostMs)]),
  };
}

function exporterOf(config: TracingConfiguration & { endpoint: string }): SpanExporter {
  const options = {
    url: `${config.endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: parseKeyPairsIntoRecord(config.OTEL_EXPORTER_OTLP_HEADERS),
    timeoutMillis: limits.exportTimeoutMillis,
    concurrencyLimit: Math.ceil(limits.maxQueueSize / limits.maxExportBatchSize) + 1,
  };
  const isJson = config.OTEL_EXPORTER_OTLP_PROTOCOL === 'http/json';
  return isJson ? new JsonExporter(options) : new ProtobufExporter(options);
}

function samplerOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share }: TracingConfiguration): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(share);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) });
  }
}

function resourceOf(process: string) {
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const own = resourceFromAttributes({
    'service.namespace': 'padron',
    'service.name': `padron-${process}`,
    'service.version': version,
    'service.instance.id': randomUUID(),
  });
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
}

type Tell = (fields: { err?: Error | undefined; library?: string }, spans?: number) => void;

/** A collector that is away is told once in a while, with how many spans were lost since. */
function makeTell(log: Logger): Tell {
  let toldAt = Number.NEGATIVE_INFINITY;
  let lost = 0;
  return (fields, spans = 0) => {
    lost += spans;
    if (performance.now() - toldAt < tellEveryMs) return;
    log.warn({ ...fields, spans: lost }, 'traces do not arrive; the work goes on without them');
    toldAt = performance.now();
    lost = 0;
  };
}

function telling(exporter: SpanExporter, tell: Tell): SpanExporter {
  return {
    export(spans: ReadableSpan[], done: (result: ExportResult) => void) {
      exporter.export(spans, (result) => {
        if (result.code !== ExportResultCode.SUCCESS) tell({ err: result.error }, spans.length);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
