import { registers } from '../../schemas/registers.ts';
import { decodeChange, peekChange } from '../changes/record.ts';
import { replayHeader } from '../stream/kafka.ts';
import { makesEvents } from '../watch/match.ts';
import { readEditions } from '../watch/watchers.ts';
import { announce, type WatchDependencies, type WatchedChange } from './announce.ts';
import type { BatchHandler, ChangeBatch } from './batch.ts';

/**
 * Turns changes of watched companies into events and deliveries. Everything it writes is keyed by the change, so a batch
 * that comes again writes nothing and only wakes again.
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
      // The catalogue's row comes before the edition's first record; without it nothing can be said about its date.
      if (edition === undefined) throw new Error(`edition ${number} of ${register.name} is not in the catalogue`);
      if (edition.announced) continue;
      const changes = candidates.filter(({ change }) => change.edition === number);
      await announce(dependencies, batch, edition, changes, ensuredDays);
    }
  };
}

/**
 * Changes of companies in the order of the partition, without baselines; others are not even decoded. Nor is what is
 * replayed: its first record stands earlier in the partition and was handled there.
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
