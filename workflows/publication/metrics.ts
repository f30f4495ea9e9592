import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { countServed, type RegisterFreshness, readFreshness } from '../../pipelines/editions/freshness.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { PublicationDependencies } from './activities.ts';

/**
 * Makes the metrics of publications and returns the function that counts a run of a step. Each scrape reads the gauges
 * from PostgreSQL, so a restarted worker shows the right values.
 */
export function makePublicationMetrics(registry: Registry, pool: Pool): PublicationDependencies['observe'] {
  const registers = [registry];
  const steps = new Counter({
    name: 'padron_publication_steps_total',
    help: 'Runs of publication steps by outcome (done, failed, cancelled; away and refused pass by themselves and are repeated)',
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
    help: 'Unfinished publications by state; one in en_cuarentena waits for an operator',
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
    name: 'padron_editions_last_30_days',
    help: 'Editions of the last 30 days by whether they were served (in_time, late) within 10 minutes after their publication was seen on the official site',
    labelNames: ['register', 'served'],
    registers,
    async collect() {
      this.reset();
      for (const { register, inTime, late } of await countServed(pool)) {
        this.set({ register, served: 'in_time' }, inTime);
        this.set({ register, served: 'late' }, late);
      }
    },
  });
  registerGauges(registry, pool);
  return (step, outcome, duration) => {
    steps.inc({ step, outcome });
    seconds.observe({ step }, duration);
  };
}

/** Makes one gauge for each fact that `padron registers` shows. A register without the fact has no line. */
function registerGauges(registry: Registry, pool: Pool): void {
  const since = (time: Date | null) => (time === null ? null : (Date.now() - time.getTime()) / 1000);
  const facts: [name: string, help: string, value: (register: RegisterFreshness) => number | null][] = [
    [
      'padron_register_probe_age_seconds',
      'Seconds since the official site last answered a probe',
      ({ probed_at }) => since(probed_at),
    ],
    [
      'padron_register_age_seconds',
      'Seconds since the newest publication was published',
      ({ published_at }) => since(published_at),
    ],
    [
      'padron_register_open_seconds',
      'Seconds since the oldest unfinished edition, correction or publication began',
      ({ open_since }) => since(open_since),
    ],
    ['padron_register_late', '1 while the register is late', ({ late }) => Number(late.length > 0)],
    [
      'padron_register_paused',
      '1 while an operator has paused new editions',
      ({ paused_at }) => Number(paused_at !== null),
    ],
    [
      'padron_reconcile_differences',
      'Rows that differed from the archive in the last comparison',
      ({ last_reconciliation }) => last_reconciliation?.differences ?? null,
    ],
    [
      'padron_reconcile_age_seconds',
      'Seconds since the state was last compared with the archive',
      ({ last_reconciliation }) => since(last_reconciliation && new Date(last_reconciliation.checked_at)),
    ],
  ];
  // Prometheus asks all gauges at once, so they share one query.
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
