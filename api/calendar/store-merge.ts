import { limaTime } from '../../schemas/lima-time.ts';
import type { Addition } from './store.ts';
import type { CalendarData, Decree, PublishedTable } from './types.ts';

/**
 * The release's data with what operators added. A decree is replaced by a later file of the same number, so that a wrong
 * one can be put right; tables are all kept in the order of loading, since a feed counts how often a date has moved.
 */
export function withAdditions(shipped: CalendarData, additions: readonly Addition[]): CalendarData {
  const decrees = new Map<string, Decree>();
  for (const decree of shipped.decrees) decrees.set(decree.decree, decree);
  const tables: PublishedTable[] = [...shipped.tables];
  const updatedAt = { ...shipped.updatedAt };
  for (const addition of additions) {
    const addedAt = limaTime(addition.addedAt);
    if (addition.kind === 'decree') {
      // Put at the end: of two decrees that name the same day the one loaded later wins.
      decrees.delete(addition.value.decree);
      decrees.set(addition.value.decree, addition.value);
      updatedAt.decrees = later(updatedAt.decrees, addedAt);
    } else {
      tables.push(addition.value);
      updatedAt.tables = later(updatedAt.tables, addedAt);
    }
  }
  return { holidays: shipped.holidays, decrees: [...decrees.values()], tables, updatedAt };
}

// Both have the offset of Lima, so their order is that of their text.
function later(one: string, other: string): string {
  return one > other ? one : other;
}
