import { Counter, Gauge, type Registry } from 'prom-client';
import { z } from 'zod';
import { wholeNumber } from '../pipelines/runtime/config.ts';
import { startRepeating } from '../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../pipelines/runtime/log.ts';
import type { Mailer } from '../pipelines/runtime/mail.ts';
import type { Pool } from '../pipelines/runtime/postgres.ts';
import { readBacklog } from '../pipelines/webhooks/backlog.ts';
import { defaultOwnerMailRule, mailOwnerNotices } from '../pipelines/webhooks/owner-mail.ts';
import {
  defaultRetentionRule,
  type RetentionRule,
  removeExpired,
  warnOfFewLocks,
} from '../pipelines/webhooks/retention.ts';

export const retentionBlock = z.object({
  /** Months for which events and deliveries are kept, counted from the day on which the change was detected. */
  EVENT_RETENTION_MONTHS: wholeNumber(1, 120).default(defaultRetentionRule.eventMonths),
  /** Days for which attempts and receivers' answers are kept. */
  ATTEMPT_RETENTION_DAYS: wholeNumber(1, 3_650).default(defaultRetentionRule.attemptDays),
  /** Days for which deliveries are held for an account whose plan no longer includes watching. */
  HELD_RETENTION_DAYS: wholeNumber(1, 3_650).default(defaultRetentionRule.heldDays),
});

export function retentionRuleOf(config: z.output<typeof retentionBlock>): RetentionRule {
  return {
    eventMonths: config.EVENT_RETENTION_MONTHS,
    attemptDays: config.ATTEMPT_RETENTION_DAYS,
    heldDays: config.HELD_RETENTION_DAYS,
  };
}

interface UpkeepDependencies {
  pool: Pool;
  log: Logger;
  metrics: Registry;
  /** null when mail is off. */
  mailer: Mailer | null;
  rule: RetentionRule;
  everyMs?: Partial<typeof defaultEveryMs>;
}

const defaultEveryMs = { mail: 10_000, retention: 3_600_000, backlog: 15_000 };

/**
 * Starts a worker's regular tasks: mail owner notices, remove expired data, count the backlog, and warn if PostgreSQL
 * has room for too few locks. Returns a function that stops the tasks. Every worker runs all tasks. A mail is leased
 * and the removal is locked, so two workers never mail one notice or remove one day at the same time.
 */
export function startUpkeep(dependencies: UpkeepDependencies): () => Promise<void> {
  const { pool, log, metrics, mailer, rule } = dependencies;
  const every = { ...defaultEveryMs, ...dependencies.everyMs };
  const gauges = makeUpkeepMetrics(metrics);
  const stops = [
    startRepeating('retention', every.retention, log, async (stop) => {
      const removed = await removeExpired(pool, rule, stop);
      if (Object.values(removed).some((part) => (Array.isArray(part) ? part.length > 0 : part > 0))) {
        log.info(removed, 'removed expired data');
      }
      await warnOfFewLocks(pool, log, rule.eventMonths);
    }),
    startRepeating('backlog', every.backlog, log, async () => {
      const backlog = await readBacklog(pool);
      gauges.due.set(backlog.due);
      gauges.inFlight.set(backlog.inFlight);
      gauges.held.set(backlog.held);
      gauges.oldestDueSeconds.set(backlog.oldestDueSeconds ?? 0);
    }),
  ];
  if (mailer !== null) {
    stops.push(
      startRepeating('notice mail', every.mail, log, async (stop) => {
        gauges.mailed.inc(await mailOwnerNotices({ pool, log, mailer, rule: defaultOwnerMailRule }, stop));
      }),
    );
  }
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
}

/** Each worker's gauges count the whole backlog in PostgreSQL. So take their maximum over the workers, not the sum. */
function makeUpkeepMetrics(registry: Registry) {
  const registers = [registry];
  return {
    due: new Gauge({ name: 'padron_delivery_due', help: 'Deliveries that are due now', registers }),
    inFlight: new Gauge({ name: 'padron_delivery_in_flight', help: 'Deliveries in flight', registers }),
    held: new Gauge({ name: 'padron_delivery_held', help: 'Deliveries held for paused webhooks', registers }),
    oldestDueSeconds: new Gauge({
      name: 'padron_delivery_oldest_due_seconds',
      help: 'Age in seconds of the oldest due delivery; 0 when none is due',
      registers,
    }),
    mailed: new Counter({
      name: 'padron_notices_mailed_total',
      help: 'Owner notices that the mail server accepted',
      registers,
    }),
  };
}
