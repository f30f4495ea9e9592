import { setTimeout as sleep } from 'node:timers/promises';
import { Counter, type Registry } from 'prom-client';
import { limaDay } from '../../schemas/lima-time.ts';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import { type Change, decodeChange, peekChange } from '../changes/record.ts';
import { adoptCommand } from '../editions/adopt.ts';
import type { Logger } from '../runtime/log.ts';
import { inTransaction, type Pool } from '../runtime/postgres.ts';
import { replayHeader } from '../stream/kafka.ts';
import { eventsOfWatched } from '../watch/account-events.ts';
import { type Written, writeEvents } from '../watch/events.ts';
import { makesEvents } from '../watch/match.ts';
import { type LastKnownRows, readEditions, readWatchers, type WatchedEdition } from '../watch/watchers.ts';
import { raiseWork, type Wake } from '../webhooks/work.ts';
import type { BatchHandler, ChangeBatch } from './batch.ts';
import type { Shown } from './wait-for-group.ts';

/**
 * Makes the handler that turns changes of watched companies into events and deliveries. The keys of events and
 * deliveries are made from the change. So a repeated batch writes nothing new and only wakes the webhooks again.
 */
export function makeWatchHandler(dependencies: WatchDependencies): BatchHandler {
  const ensuredDays = new Set<string>();
  return async (batch) => {
    const register = registers[batch.register];
    if (!makesEvents(register)) return;
    const candidates = candidatesOf(batch);
    if (candidates.length === 0) return;
    const numbers = [...new Set(candidates.map(({ change }) => change.edition))].sort((a, b) => a - b);
    const editions = await readEditions(dependencies.pool, register.name, numbers);
    for (const number of numbers) {
      const edition = editions.get(number);
      if (edition === undefined) throw new EditionUnknown(register.name, number);
      if (edition.announced) continue;
      const changes = candidates.filter(({ change }) => change.edition === number);
      await announce(dependencies, batch, edition, changes, ensuredDays);
    }
  };
}

/**
 * The catalogue has no such edition. It gets an edition's row before the edition's first record is produced, so this
 * happens only when PostgreSQL was restored from an older backup. The batch is tried again until the operator has
 * brought the edition back. The other consumers of this process go on meanwhile.
 */
class EditionUnknown extends Error {
  override name = 'EditionUnknown';
  readonly code = 'edition_unknown';
  readonly retryable = true;
  /** Shown by /readyz. */
  readonly advice = `run \`${adoptCommand}\``;

  constructor(register: RegisterName, edition: number) {
    super(`edition ${edition} of ${register} is not in the catalogue`);
  }
}

/**
 * Returns the changes of companies, without baselines (op `r`), in the order of the partition. It decodes no other
 * records. It skips a replayed record, because the original stands earlier in the partition and was handled there.
 */
function candidatesOf(batch: ChangeBatch): WatchedChange[] {
  const found: WatchedChange[] = [];
  for (const { offset, value, headers } of batch.messages) {
    if (headers?.[replayHeader] !== undefined) continue;
    const { op, company } = peekChange(value);
    if (op !== 'r' && company) found.push({ change: decodeChange(value, batch.register), offset: Number(offset) });
  }
  return found;
}

export interface WatchDependencies {
  pool: Pool;
  lastKnownRows: LastKnownRows;
  shown: Shown;
  wake: Wake;
  log: Logger;
  metrics: WatchMetrics;
  limits: typeof watchLimits;
}

/**
 * A batch waits until look-ups show its changes. If no ClickHouse server shows them after `holdMs`, the events are
 * written all the same. The wait checks every `holdPollMs`.
 */
export const watchLimits = { holdMs: 60_000, holdPollMs: 25 };

type WatchMetrics = ReturnType<typeof makeWatchMetrics>;

interface WatchedChange {
  change: Change;
  offset: number;
}

/**
 * Writes the events and deliveries of one edition's changes in a batch. For a correction, also cancels the unsent
 * deliveries of the corrected edition, even if nobody watches the company now.
 */
async function announce(
  dependencies: WatchDependencies,
  batch: ChangeBatch,
  edition: WatchedEdition,
  candidates: readonly WatchedChange[],
  ensuredDays: Set<string>,
): Promise<void> {
  const { pool } = dependencies;
  const register = registers[batch.register];
  const rucs = [...new Set(candidates.map(({ change }) => change.ruc))];
  const watchers = await readWatchers(pool, rucs, edition.detectedAt);
  const watched = candidates.filter(({ change }) => watchers.has(change.ruc));
  const events = await eventsOfWatched(
    dependencies.lastKnownRows,
    register,
    edition,
    watched.map(({ change }) => change),
    watchers,
  );
  if (events.length === 0 && edition.corrects === null) return;
  if (events.length > 0) {
    // Changes are in the order of the partition, so the last one has the highest offset.
    await waitUntilServed(dependencies, batch, watched.at(-1)!.offset);
    if (batch.isStale()) return; // Another consumer has the partition and handles this batch.
  }
  const day = limaDay(edition.detectedAt);
  // Makes the day's partitions of the tables of events in PostgreSQL. The statement can be repeated. It has a short
  // transaction of its own, because other processes that need the day's partitions wait for the transaction's end.
  if (!ensuredDays.has(day)) await pool.query('SELECT ensure_event_day($1)', [day]);
  ensuredDays.add(day);
  const wrong =
    edition.corrects === null ? null : { register: register.name, rucs, by: edition.number, ...edition.corrects };
  const { written, idle } = await inTransaction(pool, async (client) => {
    const written = await writeEvents(client, day, edition.detectedAt, events, wrong);
    return { written, idle: await raiseWork(client, written.webhookIds, day) };
  });
  // Nobody waits for the wake-ups, so the next batch is written meanwhile. If the process dies before they are sent,
  // the worker's sweeper wakes the overdue webhooks. If it also dies before the batch is committed in Kafka, the batch
  // is read again. The repeat writes nothing and wakes the webhooks.
  wakeIdle(dependencies, idle);
  report(dependencies, batch, edition, events.length, written, idle.length);
}

function wakeIdle({ wake, log, metrics }: WatchDependencies, idle: readonly string[]): void {
  wake(idle).catch((error: unknown) => {
    // The events and deliveries are stored, and the sweeper finds them.
    metrics.wakesLost.inc();
    log.warn({ err: error, webhooks: idle.length }, 'wake-ups lost; the sweeper will make up for them');
  });
}

function report(
  { log, metrics }: WatchDependencies,
  batch: ChangeBatch,
  edition: WatchedEdition,
  found: number,
  written: Written,
  woken: number,
): void {
  metrics.events.inc(written.events);
  metrics.deliveries.inc(written.deliveries);
  metrics.cancelled.inc(written.cancelled);
  log.info(
    {
      register: batch.register,
      edition: edition.number,
      corrects: edition.corrects?.edition,
      partition: batch.partition,
      firstOffset: batch.firstOffset,
      lastOffset: batch.lastOffset,
      events: written.events,
      repeated: found - written.events,
      deliveries: written.deliveries,
      cancelled: written.cancelled,
      woken,
    },
    'changes of watched companies announced',
  );
}

/**
 * Waits until every ClickHouse replica that may answer has the change. Otherwise a receiver's look-up could show the old
 * state. If a replica lags, the worker stops it after a while (`Holding`), and a stopped replica is no longer asked. So
 * the wait has no limit while at least one replica has the change. It ends when the batch is stale.
 */
async function waitUntilServed(
  { shown, limits, metrics, log }: WatchDependencies,
  { topic, partition, isStale, heartbeat }: ChangeBatch,
  offset: number,
): Promise<void> {
  let until = performance.now() + limits.holdMs;
  while (!isStale()) {
    const where = await shown(topic, partition, offset);
    if (where === 'everywhere') return;
    if (performance.now() >= until) {
      if (where === 'nowhere') {
        metrics.heldTooLong.inc();
        log.warn({ topic, partition, offset }, 'events are sent before the state is served');
        return;
      }
      log.warn({ topic, partition, offset }, 'events wait for a ClickHouse replica that lags');
      until += limits.holdMs;
    }
    await heartbeat();
    await sleep(limits.holdPollMs);
  }
}

export function makeWatchMetrics(registry: Registry) {
  const counter = (name: string, help: string) => new Counter({ name, help, registers: [registry] });
  return {
    events: counter('padron_watch_events_total', 'Events written'),
    deliveries: counter('padron_watch_deliveries_total', 'Deliveries written'),
    cancelled: counter('padron_watch_cancelled_total', 'Deliveries not sent because their edition was corrected'),
    heldTooLong: counter(
      'padron_watch_held_too_long_total',
      'Batches whose events were sent before look-ups showed them',
    ),
    wakesLost: counter(
      'padron_watch_wakes_lost_total',
      'Wake-ups that Temporal did not accept; the sweeper repeats them',
    ),
  };
}
