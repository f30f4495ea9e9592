import { LRUCache } from 'lru-cache';
import { type Archive, isLost } from '../../pipelines/archive/archive.ts';
import { CompareError } from '../../pipelines/changes/errors.ts';
import { findChanges } from '../../pipelines/changes/find-changes.ts';
import type { Change } from '../../pipelines/changes/record.ts';
import { findRawLine } from '../../pipelines/diff/raw-line.ts';
import { type Edition, publicationUnder } from '../../pipelines/editions/editions.ts';
import { findPublication, type Publication } from '../../pipelines/editions/publications.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { PublishedLines } from './published-lines.ts';

// The change of one company in an edition, and the lines of the two files that it came from.

/** Longest search in one file. The largest takes some 3 s, and longer on a busy machine. */
const searchTimeoutMs = 60_000;
/** A page waits this long for a search, and then says that it goes on. */
const waitMs = 1_500;

export type RawLine =
  | { outcome: 'found'; publicationId: number; text: string }
  | { outcome: 'absent'; publicationId: number }
  /** `removed`: its retention is over. `lost`: the archive does not have it, or it is damaged. */
  | { outcome: 'removed' | 'lost'; publicationId: number }
  /** The file is still being read. `part` is how much of it was read, from 0 to 1, or null when that is not known. */
  | { outcome: 'reading'; publicationId: number; part: number | null }
  /** A correction comes from no file. A first edition has no file before it. */
  | { outcome: 'no_file' };

export interface Evidence {
  change: Change;
  before: RawLine;
  after: RawLine;
}

export interface EvidenceDependencies {
  pool: Pool;
  archive: Archive;
  lines: PublishedLines;
}

/** Returns null when the edition did not change the company. */
export async function evidenceOf(
  dependencies: EvidenceDependencies,
  edition: Edition,
  ruc: string,
): Promise<Evidence | null> {
  const { pool, archive, lines } = dependencies;
  const { register, number, change_file_sha256: sha256, publication_id } = edition;
  const path = await archive.localFile({ register, kind: 'changes', sha256 });
  const filter = { operation: null, column: null, ruc, after: 0 };
  const { changes } = await findChanges(path, filter, 1, AbortSignal.timeout(searchTimeoutMs));
  if (changes[0] === undefined) return null;
  const under = await publicationUnder(pool, register, number - 1);
  const kept = lines.keeps(edition) ? await lines.find(edition, ruc) : null;
  const lineOf = async (id: number | null, side: 'before' | 'after'): Promise<RawLine> => {
    const publication = id === null ? null : await findPublication(pool, id);
    if (publication?.sha256 == null) return { outcome: 'no_file' };
    const publicationId = publication.id;
    if (publication.removed_at !== null) return { outcome: 'removed', publicationId };
    if (kept == null) return await searched(archive, { ...publication, sha256: publication.sha256 }, ruc);
    if ('part' in kept) return { outcome: 'reading', publicationId, part: kept.part };
    return lineIn(kept[side], publicationId);
  };
  const [before, after] = await Promise.all([lineOf(under?.id ?? null, 'before'), lineOf(publication_id, 'after')]);
  return { change: changes[0], before, after };
}

function lineIn(line: string | null, publicationId: number): RawLine {
  return line === null ? { outcome: 'absent', publicationId } : { outcome: 'found', publicationId, text: line };
}

/** Searches by publication and RUC. One that has ended keeps its line, since the same company is often looked at again. */
const searches = new LRUCache<string, Promise<string | null>>({ max: 1_000 });

/** Searches a whole publication. Small ones take milliseconds. */
async function searched(
  archive: Archive,
  { id, register, sha256, duplicates }: Publication & { sha256: string },
  ruc: string,
): Promise<RawLine> {
  const key = `${sha256} ${ruc}`;
  const start = async () => {
    const path = await archive.localFile({ register, kind: 'publications', sha256 });
    const signal = AbortSignal.timeout(searchTimeoutMs);
    return await findRawLine(register, path, ruc, { isLast: (duplicates ?? 0) > 0, signal });
  };
  let search = searches.get(key);
  if (search === undefined) {
    search = start();
    searches.set(key, search);
    // Whoever asks next searches again.
    search.catch(() => searches.delete(key));
  }
  try {
    const line = await Promise.race([search, waited()]);
    return line === undefined ? { outcome: 'reading', publicationId: id, part: null } : lineIn(line, id);
  } catch (error) {
    if (isLost(error) || error instanceof CompareError) return { outcome: 'lost', publicationId: id };
    throw error;
  }
}

function waited(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), waitMs).unref());
}
