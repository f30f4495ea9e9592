import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Shared by all loops of a process; made once. */
export interface LoopMetrics {
  rows: Counter<'group' | 'topic'>;
  batchSeconds: Histogram<'group' | 'topic'>;
  retries: Counter<'group' | 'topic'>;
  /** Records between the committed offset and the end of the log, per partition that this process holds. */
  lag: Gauge<'group' | 'topic' | 'partition'>;
  /** 1 while a partition stands still because a record of it cannot be decoded: somebody has to look. */
  stopped: Gauge<'group' | 'topic' | 'partition'>;
}

export function makeLoopMetrics(registry: Registry): LoopMetrics {
  const registers = [registry];
  return {
    rows: new Counter({
      name: 'padron_consumer_rows_total',
      help: 'Records handled and committed',
      labelNames: ['group', 'topic'],
      registers,
    }),
    batchSeconds: new Histogram({
      name: 'padron_consumer_batch_seconds',
      help: 'Time from a batch to its commit',
      labelNames: ['group', 'topic'],
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60],
      registers,
    }),
    retries: new Counter({
      name: 'padron_consumer_retries_total',
      help: 'Batches tried again because an engine did not take them',
      labelNames: ['group', 'topic'],
      registers,
    }),
    lag: new Gauge({
      name: 'padron_consumer_lag',
      help: 'Records not yet committed',
      labelNames: ['group', 'topic', 'partition'],
      registers,
    }),
    stopped: new Gauge({
      name: 'padron_consumer_partition_stopped',
      help: 'Partitions that stand still at a record that cannot be decoded',
      labelNames: ['group', 'topic', 'partition'],
      registers,
    }),
  };
}
