import type { TracingConfiguration } from '../config.ts';
import type { Logger } from '../log.ts';

/**
 * Sends this process's trace spans to the collector that the configuration names. Without a collector, the tracing SDK
 * is not even loaded.
 * @returns a function that stops tracing. Call it as the last step before the process ends. It sends the spans that
 *   still wait, and takes only a limited time.
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
