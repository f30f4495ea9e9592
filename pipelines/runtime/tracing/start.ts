import type { TracingConfiguration } from '../config.ts';
import type { Logger } from '../log.ts';

/**
 * Sends the spans of this process to the collector, if the configuration names one. Only then the SDK is loaded.
 * Returns the function that stops this. Call it last: it sends the spans that still wait, for a bounded time.
 */
export async function startTracing(
  process: string,
  config: TracingConfiguration,
  log: Logger,
): Promise<() => Promise<void>> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config;
  if (endpoint === undefined) return async () => {};
  const { exportTraces } = await import('./export.ts');
  return exportTraces(process, { ...config, endpoint }, log);
}
