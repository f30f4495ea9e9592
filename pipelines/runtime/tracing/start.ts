import { makeLogger } from '../log.ts';
import { noTracing, type RunningTracing, type TracingConfiguration } from './tracing.ts';

/** Traces of a process, if its configuration names a collector; the libraries are loaded only then. */
export async function startTracing(
  process: string,
  config: TracingConfiguration & { LOG_LEVEL: string },
): Promise<RunningTracing> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config;
  if (endpoint === undefined) return { tracing: noTracing, stop: async () => {} };
  const { exportTraces } = await import('./export.ts');
  // A log of its own: that of the process takes its trace ids from here.
  return exportTraces(process, { ...config, endpoint }, makeLogger(process, config.LOG_LEVEL));
}
