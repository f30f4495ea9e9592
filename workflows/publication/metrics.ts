import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { type RegisterFreshness, readFreshness } from '../../pipelines/editions/freshness.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';

export interface PublicationMetrics {
  observe(step: string, outcome: string, seconds: number): void;
}

/** Steps as they run, and what the catalogue says when somebody asks: alerts need no worker's memory. */
export function makePublicationMetrics(registry: Registry, pool: Pool): PublicationMetrics {
  const registers = [registry];
  const steps = new Counter({
    name: 'padron_publication_steps_total',
    help: 'Runs of publication steps by outcome (done, failed, cancelled)',
    labelNames: ['step', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'padron_publication_step_seconds',
    help: 'Duration of a run of a publication step',
    labelNames: ['step'],
    buckets: [0.01, 0.1, 1, 5, 15, 60, 300, 1_800],
    registers,
  });
  new Gauge({
    name: 'padron_publications',
    help: 'Publications that wait for something, by state: anything in en_cuarentena waits for an operator',
    labelNames: ['register', 'state'],
    registers,
    async collect() {
      this.reset();
      const { rows } = await pool.query<{ register: string; state: string; found: number }>(
        `SELECT register, state, count(*)::int AS found FROM publication
         WHERE state NOT IN ('publicada', 'rechazada', 'repetida', 'sustituida') GROUP BY register, state`,
      );
      for (const { register, state, found } of rows) this.set({ register, state }, found);
    },
  });
  registerGauges(registry, pool);
  return {
    observe(step, outcome, duration) {
      steps.inc({ step, outcome });
      seconds.observe({ step }, duration);
    },
  };
}

/** A gauge per fact of a register, all from what `padron registers` shows; a fact that is not there yet has no line. */
function registerGauges(registry: Registry, pool: Pool): void {
  const since = (time: Date | null) => (time === null ? null : (Date.now() - time.getTime()) / 1000);
  const facts: [name: string, help: string, value: (register: RegisterFreshness) => number | null][] = [
    [
      'padron_register_probe_age_seconds',
      'Since the official site was last asked with success',
      ({ probed_at }) => since(probed_at),
    ],
    ['padron_register_age_seconds', 'Since the newest publication came out', ({ published_at }) => since(published_at)],
    ['padron_register_late', '1 while something newer should be there', ({ late }) => Number(late.length > 0)],
    [
      'padron_register_paused',
      '1 while an operator holds new editions back',
      ({ paused_at }) => Number(paused_at !== null),
    ],
    [
      'padron_reconcile_differences',
      'Rows that differed from the archive when the state was last compared with it',
      ({ last_reconciliation }) => last_reconciliation?.differences ?? null,
    ],
    [
      'padron_reconcile_age_seconds',
      'Since the state was last compared with the archive',
      ({ last_reconciliation }) => since(last_reconciliation && new Date(last_reconciliation.checked_at)),
    ],
  ];
  // All gauges are asked at once: they share one reading.
  let reading: Promise<RegisterFreshness[]> | null = null;
  const read = () => {
    reading ??= readFreshness(pool).finally(() => {
      reading = null;
    });
    return reading;
  };
  for (const [name, help, value] of facts) {
    new Gauge({
      name,
      help,
      labelNames: ['register'],
      registers: [registry],
      async collect() {
        this.reset();
        for (const register of await read()) {
          const found = value(register);
          if (found !== null) this.set({ register: register.register }, found);
        }
      },
    });
  }
}
