import { LRUCache } from 'lru-cache';
import { type Archive, isLost } from '../../pipelines/archive/archive.ts';
import { CompareError } from '../../pipelines/changes/errors.ts';
import { findChanges } from '../../pipelines/changes/find-changes.ts';
import type { Change } from '../../pipelines/changes/record.ts';
import { findRawLine } from '../../pipelines/diff/raw-line.ts';
import { type Edition, publicationUnder } from '../../pipelines/editions/editions.ts';
import { findPublication } from '../../pipelines/editions/publications.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
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

/**
 * Has the archive fetch the edition's two files and check their hashes, which takes longer than a search. A page that
 * leads to the evidence calls this, so that the files are ready when somebody goes on.
 */
export async function prepareEvidence(
  { pool, archive }: Dependencies,
  { register, number }: Edition,
): Promise<void> {
  const files = await Promise.all([number - 1, number].map((each) => publicationUnder(pool, register, each)));
  for (const file of files) {
    if (file !== null) await archive.localFile({ register, kind: 'publications', sha256: file.sha256 });
  }
}

async function lineOf(
  { pool, archive }: { pool: Pool; archive: Archive },
  { register }: Edition,
  publicationId: number | null,
  ruc: string,
): Promise<RawLine> {
  const publication = publicationId === null ? null : await findPublication(pool, publicationId);
  if (publicationId === null || publication?.sha256 == null) return { outcome: 'no_file' };
  if (publication.removed_at !== null) return { outcome: 'removed', publicationId };
  const { sha256, duplicates } = publication;
  const key = `${sha256} ${ruc}`;
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
