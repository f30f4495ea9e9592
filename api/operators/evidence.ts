import { LRUCache } from 'lru-cache';
import { type Archive, isLost } from '../../pipelines/archive/archive.ts';
import { CompareError } from '../../pipelines/changes/errors.ts';
import { findChanges } from '../../pipelines/changes/find-changes.ts';
import type { Change } from '../../pipelines/changes/record.ts';
import { findRawLine, findRawLines } from '../../pipelines/diff/raw-line.ts';
import { type Edition, publicationUnder } from '../../pipelines/editions/editions.ts';
import { findPublication } from '../../pipelines/editions/publications.ts';
import type { OperatorDependencies } from './dependencies.ts';

// The change of one company in an edition, and the lines of the two files that it came from.

/** Longest search in one file, so that a page never waits for ever. The largest file takes some 3 s. */
const searchTimeoutMs = 20_000;

export type RawLine =
  | { outcome: 'found'; publicationId: number; text: string }
  | { outcome: 'absent'; publicationId: number }
  /** `removed`: its retention is over. `lost`: the archive does not have it, or it is damaged. */
  | { outcome: 'removed' | 'lost' | 'slow'; publicationId: number }
  /** A correction comes from no file. A first edition has no file before it. */
  | { outcome: 'no_file' };

export interface Evidence {
  change: Change;
  before: RawLine;
  after: RawLine;
}

/** Lines that were found. Those of an edition's companies are often looked at again. */
const found = new LRUCache<string, { line: string | null }>({ max: 2_000 });

type Dependencies = Pick<OperatorDependencies, 'pool'> & { archive: Archive };

/** Returns null when the edition did not change the company. The two files are searched at the same time. */
export async function evidenceOf(
  { pool, archive }: Dependencies,
  edition: Edition,
  ruc: string,
): Promise<Evidence | null> {
  const { register, number, change_file_sha256: sha256, publication_id } = edition;
  const path = await archive.localFile({ register, kind: 'changes', sha256 });
  const filter = { operation: null, column: null, ruc, after: 0 };
  const signal = AbortSignal.timeout(searchTimeoutMs);
  const { changes } = await findChanges(path, filter, 1, signal);
  if (changes[0] === undefined) return null;
  const under = await publicationUnder(pool, register, number - 1);
  const [before, after] = await Promise.all([
    lineOf({ pool, archive }, edition, under?.id ?? null, ruc),
    lineOf({ pool, archive }, edition, publication_id, ruc),
  ]);
  return { change: changes[0], before, after };
}

/** Searches for several companies' lines, which run now, by the keys of `found`. */
const running = new Map<string, Promise<void>>();

/**
 * Finds the lines of these companies in the edition's two files, so that the evidence of each is there when somebody
 * asks for it. A page that lists the companies calls this and does not wait. Only one such search runs at a time, since
 * a file of the largest register keeps a core busy for seconds. While one runs, others are left out.
 */
export async function prepareEvidence(
  { pool, archive }: Dependencies,
  { register, number, publication_id }: Edition,
  rucs: readonly string[],
): Promise<void> {
  if (running.size > 0) return;
  const under = await publicationUnder(pool, register, number - 1);
  for (const id of [publication_id, under?.id ?? null]) {
    const publication = id === null ? null : await findPublication(pool, id);
    if (publication?.sha256 == null || publication.removed_at !== null) continue;
    const { sha256, duplicates } = publication;
    const missing = rucs.filter((ruc) => !found.has(keyOf(sha256, ruc)));
    if (missing.length === 0 || running.size > 0) continue;
    const search = async () => {
      const path = await archive.localFile({ register, kind: 'publications', sha256 });
      const options = { isLast: (duplicates ?? 0) > 0, signal: AbortSignal.timeout(searchTimeoutMs) };
      // A company without a line that begins with its RUC is searched for by itself, in the whole of each line.
      for (const [ruc, line] of await findRawLines(register, path, missing, options)) {
        found.set(keyOf(sha256, ruc), { line });
      }
    };
    // Whoever waits for the search goes on when it fails, and searches alone.
    const ended = search().catch(() => undefined);
    for (const ruc of missing) running.set(keyOf(sha256, ruc), ended);
    await ended;
    for (const ruc of missing) running.delete(keyOf(sha256, ruc));
  }
}

function keyOf(sha256: string, ruc: string): string {
  return `${sha256} ${ruc}`;
}

async function lineOf(
  { pool, archive }: Dependencies,
  { register }: Edition,
  publicationId: number | null,
  ruc: string,
): Promise<RawLine> {
  const publication = publicationId === null ? null : await findPublication(pool, publicationId);
  if (publicationId === null || publication?.sha256 == null) return { outcome: 'no_file' };
  if (publication.removed_at !== null) return { outcome: 'removed', publicationId };
  const { sha256, duplicates } = publication;
  const key = keyOf(sha256, ruc);
  await running.get(key);
  const signal = AbortSignal.timeout(searchTimeoutMs);
  try {
    let known = found.get(key);
    if (known === undefined) {
      const path = await archive.localFile({ register, kind: 'publications', sha256 });
      known = { line: await findRawLine(register, path, ruc, { isLast: (duplicates ?? 0) > 0, signal }) };
      found.set(key, known);
    }
    const { line } = known;
    return line === null ? { outcome: 'absent', publicationId } : { outcome: 'found', publicationId, text: line };
  } catch (error) {
    if (signal.aborted && error === signal.reason) return { outcome: 'slow', publicationId };
    if (isLost(error) || error instanceof CompareError) return { outcome: 'lost', publicationId };
    throw error;
  }
}
