import avsc from 'avsc';
import { openChangeFile, recordsOf } from './change-file.ts';
import type { Change, ChangeRecord } from './record.ts';
import { baseline, type Operation } from './record-bytes.ts';

interface ChangeFilter {
  operation: Operation | null;
  /** Changes of this column only. A row that appears or disappears changes no column. */
  column: string | null;
  /** The change of this RUC only. */
  ruc: string | null;
  /** Changes after this place in the file only; 0 for all. */
  after: number;
}

export interface FoundChanges {
  changes: readonly Change[];
  /** `after` for the next call, or null when there are no more. */
  next: number | null;
}

/**
 * Finds changes of companies in a change file, in its order. Rows that were written again unchanged are none. Only the
 * records that may fit are decoded, so a day's file of 29,000 changes takes some milliseconds.
 * @throws CompareError `change_file_damaged`; the signal's reason when aborted
 */
export async function findChanges(
  path: string,
  filter: ChangeFilter,
  maxChanges: number,
  signal: AbortSignal,
): Promise<FoundChanges> {
  const file = await openChangeFile(path);
  const type = avsc.Type.forSchema(file.schema as avsc.Schema, { wrapUnions: false });
  const changes: Change[] = [];
  let place = 0;
  try {
    for await (const block of file.blocks()) {
      signal.throwIfAborted();
      if (place + block.count <= filter.after) {
        place += block.count;
        continue;
      }
      for (const record of recordsOf(block)) {
        place += 1;
        if (place <= filter.after || record.op === baseline || !record.isOfCompany()) continue;
        if (filter.operation !== null && record.operation !== filter.operation) continue;
        if (filter.ruc !== null && record.key() !== filter.ruc) continue;
        const { detected_at, ...change } = type.fromBuffer(
          block.bytes.subarray(record.start, record.at),
        ) as ChangeRecord;
        if (filter.column !== null && !hasChanged(change, filter.column)) continue;
        changes.push({ ...change, detectedAt: new Date(detected_at) });
        if (changes.length > maxChanges) return { changes: changes.slice(0, maxChanges), next: place - 1 };
        if (filter.ruc !== null) return { changes, next: null };
      }
    }
  } finally {
    await file.close();
  }
  return { changes, next: null };
}

function hasChanged({ before, after }: Pick<Change, 'before' | 'after'>, column: string): boolean {
  return before !== null && after !== null && (before[column] ?? '') !== (after[column] ?? '');
}
