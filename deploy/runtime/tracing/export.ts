import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode, parseKeyPairsIntoRecord } from '@opentelemetry/core';
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
import type { TracingConfiguration } from './config.ts';
import { Recording } from './recording.ts';
import type { RunningTracing } from './tracing.ts';

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
