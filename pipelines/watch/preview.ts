import { type EventKind, type Register, type RegisterName, registers } from '../../schemas/registers.ts';
import { type ChangeBlock, openChangeFile, recordsOf } from '../changes/change-file.ts';
import { avroType, type Change, type ChangeRecord } from '../changes/record.ts';
import { baseline } from '../changes/record-bytes.ts';
import type { Pool } from '../runtime/postgres.ts';
import { eventsOfWatched } from './account-events.ts';
import { readSubscribers, type Subscriber, takesEvent } from './events.ts';
import { makesEvents } from './match.ts';
import { type LastKnownRows, readWatchers } from './watchers.ts';

/** What one customer would get of one kind. */
export interface NoticeCount {
  accountId: number;
  evento: EventKind;
  events: number;
  /** Deliveries of these events to the customer's webhooks, of which `held` would wait, because a webhook is paused. */
  deliveries: number;
  held: number;
}

interface PreviewDependencies {
  pool: Pool;
  lastKnownRows: LastKnownRows;
}

/** The edition that a compared publication would become. Lists and webhooks that exist at `detectedAt` are counted. */
interface WantedEdition {
  register: RegisterName;
  number: number;
  fechaDato: string;
  detectedAt: Date;
}

/**
 * Counts the events and deliveries that an edition would make, by customer and kind, and writes nothing. It follows the
 * rules of the consumer `watch` (consumers/watch.ts) with that consumer's own functions. Only one block of the change
 * file (256 KB) is in memory at a time. A correction cannot be counted so: its deliveries depend on what was sent.
 * @param changeFile path of the change file
 * @throws CompareError `change_file_damaged`
 */
export async function previewNotices(
  { pool, lastKnownRows }: PreviewDependencies,
  edition: WantedEdition,
  changeFile: string,
  signal: AbortSignal,
): Promise<NoticeCount[]> {
  const register = registers[edition.register];
  if (!makesEvents(register)) return [];
  const counts = new Map<string, NoticeCount>();
  const subscribers = new Map<number, readonly Subscriber[]>();
  const file = await openChangeFile(changeFile);
  try {
    for await (const block of file.blocks()) {
      signal.throwIfAborted();
      const { watched, watchers } = await watchedIn(pool, register, edition, block);
      for (const event of await eventsOfWatched(lastKnownRows, register, edition, watched, watchers)) {
        const { accountId } = event;
        const webhooks = subscribers.get(accountId) ?? (await readSubscribers(pool, [accountId], edition.detectedAt));
        subscribers.set(accountId, webhooks);
        const receivers = webhooks.filter((webhook) => takesEvent(webhook, event));
        const count = countOf(counts, accountId, event.field.evento);
        count.events += 1;
        count.deliveries += receivers.length;
        count.held += receivers.filter(({ estado }) => estado === 'pausado').length;
      }
    }
  } finally {
    await file.close();
  }
  return [...counts.values()].sort((one, other) => other.events - one.events || one.accountId - other.accountId);
}

function countOf(counts: Map<string, NoticeCount>, accountId: number, evento: EventKind): NoticeCount {
  const key = `${accountId} ${evento}`;
  const known = counts.get(key) ?? { accountId, evento, events: 0, deliveries: 0, held: 0 };
  counts.set(key, known);
  return known;
}

/** Decodes only the records of watched companies, which are few. */
async function watchedIn(pool: Pool, register: Register, { detectedAt }: WantedEdition, block: ChangeBlock) {
  const changed = new Map<string, { start: number; end: number }>();
  for (const record of recordsOf(block)) {
    if (record.op === baseline || !record.isOfCompany()) continue;
    changed.set(record.key(), { start: record.start, end: record.at });
  }
  const watchers = changed.size === 0 ? new Map() : await readWatchers(pool, [...changed.keys()], detectedAt);
  const watched = [...watchers.keys()].map((ruc): Change => {
    const { start, end } = changed.get(ruc)!;
    const { detected_at, ...change } = avroType(register.name).fromBuffer(
      block.bytes.subarray(start, end),
    ) as ChangeRecord;
    return { ...change, detectedAt: new Date(detected_at) };
  });
  return { watched, watchers };
}
