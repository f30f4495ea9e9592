import { collectDefaultMetrics, Registry } from 'prom-client';

/** One registry per process, passed down; there is no global one. Metric names start with `padron_`. */
export function makeMetrics(process: string): Registry {
  const metrics = new Registry();
  metrics.setDefaultLabels({ process });
  collectDefaultMetrics({ register: metrics });
  return metrics;
}
