import { makeLastKnown } from '../last-known.ts';
import type { NameStore } from './store.ts';

/** Rejects when the index of names does not hold the companies that the state holds: an empty page would be no answer then. */
export type RequireNames = () => Promise<void>;

/** Counting companies reads a part of the state; how many there are hardly moves. */
const limits = { freshMs: 600_000, servesMs: 600_000, loadTimeoutMs: 3_000, retryAfterMs: 0, maxEntries: 1 };
/** Superseded rows of either side count until they are merged away; far less than this much is missing in a whole index. */
const leastShare = 0.9;

export class NamesIncomplete extends Error {
  override name = 'NamesIncomplete';
  readonly code = 'names_incomplete';

  constructor(names: number, companies: number) {
    super(`ranked_name has ${names} rows for ${companies} of companies: make it anew with padron rebuild`);
  }
}

/**
 * The index is empty where it came to an installation whose state was there before, and where a store lost it. Only a yes is
 * kept: a no is an error, asked again by the next search.
 */
export function makeRequireNames(names: NameStore): RequireNames {
  const complete = makeLastKnown(async (_: 'names') => {
    const counted = await names.counts();
    if (counted.companies > 0 && counted.names >= counted.companies * leastShare) return;
    throw new NamesIncomplete(counted.names, counted.companies);
  }, limits);
  return () => complete.get('names');
}
