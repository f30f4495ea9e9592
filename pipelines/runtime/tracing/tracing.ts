import type { ClickHouseSpan, ClickHouseTracer } from '@clickhouse/client';
import { z } from 'zod';

/**
 * What the units of work of a process tell about themselves when traces are on. Values may be read by whoever reads the traces:
 * ids of ours, counts, names of routes, topics and classes of errors; never a RUC, a person's name, a token, a query, a body, or
 * any other text of a caller.
 */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A request, a batch, a step, an attempt, a query: one span. */
export interface Unit {
  name: string;
  kind: 'server' | 'client' | 'consumer' | 'internal';
  attributes?: Attributes;
  /** The W3C header that came with it from outside; anything else than one valid value is as if there were none. */
  traceparent?: string | undefined;
  /** Units of this process that wait for it together: it is part of the first one's trace and linked with the others'. */
  sharedBy?: readonly (OpenUnit | undefined)[];
}

/** A unit under way. */
export interface OpenUnit {
  /** Whether what it tells goes anywhere: what costs something to find out need not be otherwise. */
  readonly isRecorded: boolean;
  describe(attributes: Attributes, name?: string): void;
  /** It did not do what it should. What is thrown says so by itself. @param type a class of errors, never a message */
  fail(type: string): void;
}

export interface Tracing {
  /** Runs the work as a unit, a part of the one that runs now unless `unit` says otherwise. The work's result or error is its own. */
  during<Result>(unit: Unit, work: (unit: OpenUnit) => Promise<Result>): Promise<Result>;
  /** The unit that runs now; undefined: none does, or traces are off. */
  current(): OpenUnit | undefined;
  /** For the log: what joins a line to the unit that wrote it. Undefined: traces are off. */
  logFields: (() => { trace_id?: string }) | undefined;
}

/** As a process starts it, and stops it last: others tell until they end. */
export interface RunningTracing {
  tracing: Tracing;
  /** Sends what is still held, for a bounded time. */
  stop(): Promise<void>;
}

const untold: OpenUnit = { isRecorded: false, describe() {}, fail() {} };

/** Traces are off: the work and nothing else. */
export const noTracing: Tracing = {
  during: (_unit, work) => work(untold),
  current: () => undefined,
  logFields: undefined,
};

/**
 * The client's queries as parts of the units that wait for them, with the query's id as ClickHouse's own log has it. Queries of
 * no unit (a readiness check, a gauge) are no trace of their own.
 */
export function clickhouseTracer(tracing: Tracing): ClickHouseTracer {
  return {
    startActiveSpan<Result>(
      name: string,
      options: { attributes?: Attributes },
      work: (span: ClickHouseSpan) => Result,
    ): Result {
      // What the client calls a stream is the reading of an answer that is there, and outlives this call.
      if (tracing.current() === undefined || name.endsWith('.stream')) return work(silentSpan);
      const told = tracing.during({ name, kind: 'client', attributes: options.attributes ?? {} }, async (unit) =>
        work({ ...silentSpan, setAttributes: (attributes) => unit.describe(attributes) }),
      );
      // All other operations are promises.
      return told as Result;
    },
  };
}

/** Its errors' texts quote queries with their RUCs: the unit tells the error's class by itself, and ends by itself. */
const silentSpan: ClickHouseSpan = { setAttributes() {}, setStatus() {}, recordException() {}, end() {} };

/**
 * The standard's own names, so that what an operator knows of other programs holds here. Of the exporter's further ones
 * (`OTEL_EXPORTER_OTLP_COMPRESSION`, `…_CERTIFICATE`, `OTEL_RESOURCE_ATTRIBUTES`, …) the library reads those that are set.
 */
export const tracingBlock = z.object({
  /** Base address of a collector that speaks OTLP over HTTP, `/v1/traces` is added; unset: no traces. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: z.enum(['http/protobuf', 'http/json']).default('http/protobuf'),
  /** Sent with every export: `name=value,…`, values percent-encoded. A secret, where the collector asks for a key. */
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .regex(/^\s*[^\s=,]+\s*=[^,]*(,\s*[^\s=,]+\s*=[^,]*)*$/, 'name=value, separated by commas')
    .optional(),
  /** Which traces are kept. `parentbased_…` does what a caller's traceparent says, the others ask nobody. */
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on'),
  /** Share of the traces that `…traceidratio` keeps. */
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
});
export type TracingConfiguration = z.output<typeof tracingBlock>;
