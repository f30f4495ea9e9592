import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { context, DiagLogLevel, diag, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  type ExportResult,
  ExportResultCode,
  parseKeyPairsIntoRecord,
  W3CTraceContextPropagator,
} from '@opentelemetry/core';
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
import { readBuild } from '../build.ts';
import type { TracingConfiguration } from '../config.ts';
import type { Logger } from '../log.ts';

const limits = {
  /** Largest number of spans that wait to be sent, some 20 MB. Further spans are dropped and counted in the log. */
  maxQueueSize: 8_192,
  maxExportBatchSize: 512,
  scheduledDelayMillis: 2_000,
  /** Limit of one export with its retries. */
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
/** How long a stopping process waits for the last export, so that a hanging collector does not hold it up. */
const maxFlushMs = 1_000;
const logEveryMs = 60_000;

/**
 * Sets up OpenTelemetry for this process. The library sends spans to a collector in batches. No work waits for an
 * export, and a failed export fails no work. Returns a function that stops the export.
 */
export function exportTraces(
  process: string,
  config: TracingConfiguration & { endpoint: string },
  log: Logger,
): () => Promise<void> {
  const logLoss = makeLossLog(log);
  // The library reports here what it drops and which environment variables it cannot read.
  diag.setLogger(
    { error() {}, warn: (message) => logLoss({ library: message }), info() {}, debug() {}, verbose() {} },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const provider = new TracerProvider({
    sampler: samplerOf(config),
    spanLimits,
    resource: resourceOf(process),
    spanProcessors: [new BatchSpanProcessor({ ...limits, exporter: withLossLog(exporterOf(config), logLoss) })],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return async () => {
    // If the last flush fails, the exporter has already logged that.
    await Promise.race([provider.shutdown().catch(() => {}), sleep(maxFlushMs)]);
    for (const api of [trace, propagation, context, diag]) api.disable();
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
  let root: Sampler = new TraceIdRatioBasedSampler(share);
  if (name.endsWith('always_on')) root = new AlwaysOnSampler();
  if (name.endsWith('always_off')) root = new AlwaysOffSampler();
  return name.startsWith('parentbased') ? new ParentBasedSampler({ root }) : root;
}

function resourceOf(process: string) {
  const own = resourceFromAttributes({
    'service.namespace': 'padron',
    'service.name': `padron-${process}`,
    'service.version': readBuild().version,
    'service.instance.id': randomUUID(),
  });
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
}

type LossLog = (fields: { err?: Error | undefined; library?: string }, spans?: number) => void;

/** Returns a function that logs lost spans, at most once in `logEveryMs`, with their number since the last line. */
function makeLossLog(log: Logger): LossLog {
  let loggedAt = Number.NEGATIVE_INFINITY;
  let lost = 0;
  return (fields, spans = 0) => {
    lost += spans;
    if (performance.now() - loggedAt < logEveryMs) return;
    // Log outside of any span. An export may run while some span is active, and the log line would get its trace id.
    // The loss has nothing to do with that trace.
    context.with(ROOT_CONTEXT, () =>
      log.warn({ ...fields, spans: lost }, 'traces do not arrive; the work goes on without them'),
    );
    loggedAt = performance.now();
    lost = 0;
  };
}

function withLossLog(exporter: SpanExporter, logLoss: LossLog): SpanExporter {
  return {
    export(spans: ReadableSpan[], done: (result: ExportResult) => void) {
      exporter.export(spans, (result) => {
        if (result.code !== ExportResultCode.SUCCESS) logLoss({ err: result.error }, spans.length);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
