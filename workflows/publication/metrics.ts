import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Pool } from '../../deploy/runtime/postgres.ts';

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
  new Gauge({
    name: 'padron_register_probe_age_seconds',
    help: 'Since the official site was last asked with success',
    labelNames: ['register'],
    registers,
    async collect() {
      this.reset();
      const { rows } = await pool.query<{ register: string; age: number }>(
        `SELECT register, extract(epoch FROM now() - probed_at)::float8 AS age FROM register_head
         WHERE probed_at IS NOT NULL`,
      );
      for (const { register, age } of rows) this.set({ register }, age);
    },
  });
  return {
    observe(step, outcome, duration) {
      steps.inc({ step, outcome });
      seconds.observe({ step }, duration);
    },
  };
}
