import type { Archive } from '../../pipelines/archive/archive.ts';
import { decodeRecords, openChangeFile, recordsOf } from '../../pipelines/changes/change-file.ts';
import type { ChangeRecord, Row } from '../../pipelines/changes/record.ts';
import { baseline } from '../../pipelines/changes/record-bytes.ts';
import { type Edition, editionsAfter } from '../../pipelines/editions/editions.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { maskRuc } from '../../schemas/ruc.ts';

/** Why undoing an edition would leave a row as it is, as in the list of a correction's conflicts. */
export type ConflictReason = 'changed_again' | 'gone' | 'came_back';

export interface RevertPreview {
  /** Rows that would get back the value from before the edition. */
  undone: number;
  conflicts: Readonly<Record<ConflictReason, number>>;
  /** The first conflicts, with natural persons masked. */
  listed: readonly { ruc: string; reason: ConflictReason }[];
  /** Editions after this one, from whose change files the conflicts were found. */
  later: number;
}

const maxListed = 50;
/** Editions with more changes are not counted in a page. A usual day has 29,000. */
const maxChanges = 500_000;

/**
 * Finds what undoing an edition now would leave alone, and writes nothing. A row of the head is the one that the newest
 * later edition gave it, or else this edition's. So the later change files say the same as the head's state, which a
 * correction reads (diff/large/correct.ts, diff/small/correct.ts).
 * @returns null when the edition has too many changes for this
 * @throws ArchiveError `not_found` and `hash_mismatch`, CompareError `change_file_damaged`; the signal's reason
 */
export async function previewRevert(
  { pool, archive }: { pool: Pool; archive: Archive },
  { register, number, changes, change_file_sha256 }: Edition,
  signal: AbortSignal,
): Promise<RevertPreview | null> {
  if (changes > maxChanges) return null;
  const fileOf = (sha256: string) => archive.localFile({ register, kind: 'changes', sha256 });
  const given = new Map<string, string>();
  for await (const { ruc, after } of decodeRecords<ChangeRecord>(await fileOf(change_file_sha256))) {
    given.set(ruc, textOf(after));
  }
  const current = new Map(given);
  const later = await editionsAfter(pool, register, number);
  for (const edition of later) {
    const path = await fileOf(edition.change_file_sha256);
    for (const ruc of await changedAmong(path, given, signal)) current.set(ruc.key, ruc.after);
  }
  return { ...compare(given, current), later: later.length };
}

/** Decodes only the records of the edition's RUCs, in the order of the file. */
async function changedAmong(path: string, given: ReadonlyMap<string, string>, signal: AbortSignal) {
  const wanted = new Set<string>();
  const file = await openChangeFile(path);
  try {
    for await (const block of file.blocks()) {
      signal.throwIfAborted();
      for (const record of recordsOf(block)) {
        const key = record.op === baseline ? '' : record.key();
        if (given.has(key)) wanted.add(key);
      }
    }
  } finally {
    await file.close();
  }
  const found: { key: string; after: string }[] = [];
  if (wanted.size === 0) return found;
  for await (const { ruc, op, after } of decodeRecords<ChangeRecord>(path)) {
    if (op !== 'r' && wanted.has(ruc)) found.push({ key: ruc, after: textOf(after) });
  }
  return found;
}

/** The empty text stands for no row. */
function textOf(row: Row | null): string {
  return row === null ? '' : JSON.stringify(Object.values(row));
}

function compare(given: ReadonlyMap<string, string>, current: ReadonlyMap<string, string>) {
  const conflicts = { changed_again: 0, gone: 0, came_back: 0 };
  const listed: { ruc: string; reason: ConflictReason }[] = [];
  let undone = 0;
  for (const [ruc, row] of given) {
    const now = current.get(ruc)!;
    if (now === row) {
      undone += 1;
      continue;
    }
    const reason = row === '' ? 'came_back' : now === '' ? 'gone' : 'changed_again';
    conflicts[reason] += 1;
    if (listed.length < maxListed) listed.push({ ruc: maskRuc(ruc), reason });
  }
  return { undone, conflicts, listed };
}
