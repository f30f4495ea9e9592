import { z } from 'zod';

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
