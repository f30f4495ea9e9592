import { setTimeout as sleep } from 'node:timers/promises';
import type { Counter } from 'prom-client';
import type { Logger } from '../../deploy/runtime/log.ts';
import { inTransaction, type Pool } from '../../deploy/runtime/postgres.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { type Register, registers } from '../../schemas/registers.ts';
import { type Change, decodeChange } from '../stream/codec.ts';
import { type AccountEvent, type Written, writeEvents } from '../watch/events.ts';
import type { LastKnownRows } from '../watch/last-known.ts';
import { eventsOf } from '../watch/match.ts';
import { eventId } from '../watch/payload.ts';
import { peekChange } from '../watch/peek.ts';
import type { Wake } from '../watch/wake.ts';
import { readEditions, readWatchers, type WatchedEdition, type Watcher } from '../watch/watchers.ts';
import { raiseWork } from '../watch/work.ts';
import type { BatchHandler, ChangeBatch } from './loop.ts';

export interface WatchDependencies {
  pool: Pool;
  lastKnownRows: LastKnownRows;
  /** The next offset that the materialize group would read of a partition. */
  materialisedOffset: (topic: string, partition: number) => Promise<number>;
  wake: Wake;
  log: Logger;
  metrics: WatchMetrics;
  limits: WatchLimits;
}

export interface WatchLimits {
  /** How long notices wait for look-ups to show what they tell. */
  holdMs: number;
  holdPollMs: number;
}

export const watchLimits: WatchLimits = { holdMs: 60_000, holdPollMs: 100 };

export interface WatchMetrics {
  events: Counter;
  deliveries: Counter;
  /** Batches whose notices left although the state was not known to be served. */
  heldTooLong: Counter;
  /** Wake-ups that Temporal did not take; the sweeper makes up for them. */
  wakesLost: Counter;
}

interface WatchedChange {
  change: Change;
  offset: number;
}

/**
 * Turns changes of watched companies into events and deliveries. Everything it writes is keyed by the change, so a batch
 * that comes again writes nothing and only wakes again.
 */
export function makeWatchHandler(dependencies: WatchDependencies): BatchHandler {
  const ensuredDays = new Set<string>();
  return async (batch) => {
    const register = registers[batch.register];
    const candidates = candidatesOf(batch);
    if (candidates.length === 0) return;
    const numbers = [...new Set(candidates.map(({ change }) => change.edition))].sort((a, b) => a - b);
    const editions = await readEditions(dependencies.pool, register.name, numbers);
    for (const number of numbers) {
      const edition = editions.get(number);
      // The catalogue's row comes before the edition's first record; without it nothing can be said about its date.
      if (edition === undefined) throw new Error(`edition ${number} of ${register.name} is not in the catalogue`);
      if (edition.announced) continue;
      const changes = candidates.filter(({ change }) => change.edition === number);
      await announce(dependencies, batch, register, edition, changes, ensuredDays);
    }
  };
}

/** Changes of companies, without baselines, in the order of the partition; others are not even decoded. */
function candidatesOf(batch: ChangeBatch): WatchedChange[] {
  const found: WatchedChange[] = [];
  for (const { offset, value } of batch.messages) {
    const { op, company } = peekChange(value);
    if (op !== 'r' && company) found.push({ change: decodeChange(value, batch.register), offset: Number(offset) });
  }
  return found;
}

async function announce(
  dependencies: WatchDependencies,
  batch: ChangeBatch,
  register: Register,
  edition: WatchedEdition,
  candidates: readonly WatchedChange[],
  ensuredDays: Set<string>,
): Promise<void> {
  const { pool, log, metrics } = dependencies;
  const rucs = [...new Set(candidates.map(({ change }) => change.ruc))];
  const watchers = await readWatchers(pool, rucs, edition.detectedAt);
  const watched = candidates.filter(({ change }) => watchers.has(change.ruc));
  if (watched.length === 0) return;
  const returned = watched.filter(({ change }) => change.op === 'c').map(({ change }) => change.ruc);
  const lastKnown = await dependencies.lastKnownRows(register, returned, edition.number);
  const events = watched.flatMap(({ change }) =>
    accountEvents(register, edition, change, lastKnown.get(change.ruc) ?? null, watchers.get(change.ruc)!),
  );
  if (events.length === 0) return;
  await waitUntilServed(dependencies, batch, Math.max(...watched.map(({ offset }) => offset)));
  if (batch.isStale()) return; // Another consumer has the partition; it handles this batch.
  const day = limaDay(edition.detectedAt);
  // In a transaction of its own: making partitions locks the whole tables. Repeatable; dying after it leaves empty ones.
  if (!ensuredDays.has(day)) await pool.query('SELECT ensure_event_day($1)', [day]);
  ensuredDays.add(day);
  const { written, idle } = await write(pool, day, edition, events);
  // Dying here: the batch comes again, writes nothing and wakes; until then the work stands overdue for the sweeper.
  await dependencies.wake(idle).catch((error: unknown) => {
    // Events and deliveries are safe and the sweeper finds them; holding the stream back would help nobody.
    metrics.wakesLost.inc();
    log.warn({ err: error, webhooks: idle.length }, 'wake-ups lost; the sweeper will make up for them');
  });
  metrics.events.inc(written.events);
  metrics.deliveries.inc(written.deliveries);
  log.info(
    {
      register: register.name,
      edition: edition.number,
      partition: batch.partition,
      firstOffset: batch.firstOffset,
      lastOffset: batch.lastOffset,
      events: written.events,
      repeated: events.length - written.events,
      deliveries: written.deliveries,
      woken: idle.length,
    },
    'changes of watched companies announced',
  );
}

function accountEvents(
  register: Register,
  edition: WatchedEdition,
  change: Change,
  lastKnown: Change['before'],
  watchers: readonly Watcher[],
): AccountEvent[] {
  return eventsOf(register, change, lastKnown).flatMap((field) =>
    watchers.map(({ accountId, list }) => ({
      id: eventId(register.name, change.edition, change.ruc, field.campo, list.id),
      accountId,
      register: register.name,
      edition: change.edition,
      ruc: change.ruc,
      field,
      list,
      fechaDato: edition.fechaDato,
      ocurridoEn: change.detectedAt,
    })),
  );
}

/**
 * Events, deliveries and the raised work in one transaction: dying before the commit leaves nothing, after it everything.
 */
function write(
  pool: Pool,
  day: string,
  edition: WatchedEdition,
  events: readonly AccountEvent[],
): Promise<{ written: Written; idle: string[] }> {
  return inTransaction(pool, async (client) => {
    const written = await writeEvents(client, day, edition.detectedAt, events);
    return { written, idle: await raiseWork(client, written.webhookIds, day) };
  });
}

/** A receiver that looks the company up at once must see the new state: waits for materialize to commit past the offset. */
async function waitUntilServed(dependencies: WatchDependencies, batch: ChangeBatch, offset: number): Promise<void> {
  const { materialisedOffset, limits, metrics, log } = dependencies;
  const until = Date.now() + limits.holdMs;
  while (!batch.isStale()) {
    if ((await materialisedOffset(batch.topic, batch.partition)) > offset) return;
    if (Date.now() >= until) {
      metrics.heldTooLong.inc();
      log.warn({ topic: batch.topic, partition: batch.partition, offset }, 'notices leave before the state is served');
      return;
    }
    await batch.heartbeat();
    await sleep(limits.holdPollMs);
  }
}
