import type { RegisterName } from '../../../schemas/registers.ts';
import { type ChangeFile, type ChangeFileFacts, recordsOf } from '../../changes/change-file.ts';
import { CompareError } from '../../changes/errors.ts';
import { keyAt } from '../../registers/ruc-key.ts';
import { foldChangeFiles } from '../edition.ts';
import type { RebuildInput, RebuildProgress, Rebuilt } from '../types.ts';
import { sweepWorkFiles } from '../work-files.ts';
import { openIndex } from './edition-index.ts';
import { neededFiles, StateWriter } from './edition-writer.ts';
import type { IndexHeader } from './index-format.ts';
import { largeModule } from './reading.ts';
import { countEmptyCells, EmptyCells, RowDecoder } from './rows.ts';

/**
 * Makes the index and row store of the last given edition again, from change files in order. Both get the bytes that
 * the comparison or correction wrote. The first file must be that of a full edition, which has every row. Only the
 * files that the last two editions need stay in WORK_DIR. If the process dies, only this run's work is lost. A first
 * edition of 18 million rows takes some seconds, each later edition half a second.
 * @throws CompareError `change_file_damaged`; the signal's reason when aborted
 */
export async function rebuildIndex(
  input: RebuildInput,
  report: (progress: RebuildProgress) => void,
  signal: AbortSignal,
): Promise<Rebuilt> {
  const { register, workDir } = input;
  const last = await foldChangeFiles<IndexHeader>(input, report, signal, async (previous, file, sha256, report) => {
    const header = await fold(workDir, factsOf(file, register), file, sha256, previous, report, signal);
    sweepWorkFiles(workDir, register, neededFiles(register, [previous, header]));
    return header;
  });
  return { edition: last.edition, indexName: `${register}.${last.changeFileSha256}`, rows: last.rows };
}

/** Applies the records of one edition, which must be in RUC order, to the index and the row store. */
async function fold(
  workDir: string,
  facts: ChangeFileFacts,
  file: ChangeFile,
  sha256: string,
  previous: IndexHeader | null,
  report: (records: number) => void,
  signal: AbortSignal,
): Promise<IndexHeader> {
  const { register, columns, isFull } = facts;
  const base = isFull ? null : openIndex(workDir, register, previous!.changeFileSha256);
  const state = new StateWriter(workDir, facts, base);
  const decoder = new RowDecoder(columns.length);
  const empty = new EmptyCells(columns.length, largeModule(register).format.emptyMarkers);
  let lastKey = -1;
  let records = 0;
  try {
    for await (const block of file.blocks()) {
      signal.throwIfAborted();
      for (const record of recordsOf(block)) {
        const { before, after } = decoder.read(record);
        const row = (after ?? before)!;
        const key = keyAt(row.bytes, row.start, row.end);
        if (key <= lastKey) throw new CompareError('change_file_damaged', 'A change file is not in RUC order.');
        lastKey = key;
        if (before !== null && !isFull) countEmptyCells(before.bytes, before.start, empty, -1);
        if (after === null) state.remove(key);
        else {
          countEmptyCells(after.bytes, after.start, empty, 1);
          state.set(record.operation, key, after, 0);
        }
        records += 1;
      }
      report(records);
    }
    return state.finish(sha256, empty.byColumn);
  } finally {
    state.discard();
  }
}

/** Takes the facts from the file, because an older edition may have another parser version or other columns. */
function factsOf(file: ChangeFile, register: RegisterName): ChangeFileFacts {
  const { metadata: _, hashSeed, ...header } = file.header;
  if (hashSeed === null) throw new CompareError('change_file_damaged', 'A change file does not name its hash seed.');
  return { ...header, register, hashSeed };
}
