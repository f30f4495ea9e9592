import { baseline } from '../changes/record-bytes.ts';
import { opNumbers } from '../consumers/taxpayer-rows.ts';
import { ChangeRecords } from './change-records.ts';
import { FingerprintSum, isSame, RowHash } from './row-hash.ts';
import { type Differences, makeRanges, type RangeRows } from './row-ranges.ts';
import { everyKey, type StoredRows } from './stored.ts';
import type { EditionFile, Meter, VerifyInput } from './types.ts';

/**
 * Compares the changes in ClickHouse with the records of the change files, edition by edition. Baseline records (op
 * `r`: rows of a full edition that are no change) are skipped, because the history lacks them. One query reads the
 * whole history. Each file is read once, and once more if its edition differs, to list the rows.
 */
export async function checkHistory(
  input: VerifyInput,
  stored: StoredRows,
  { differences, meter, maxRangeRows }: { differences: Differences; meter: Meter; maxRangeRows: number },
  signal: AbortSignal,
): Promise<void> {
  const { register } = input;
  meter.begin('history', input.changeFiles);
  const found = await stored.historyFingerprints();
  let read = 0;
  for (const file of input.changeFiles) {
    const sum = new FingerprintSum();
    // Skip a file that has only baseline records, such as the millions of a first edition. The history contains none.
    if (file.changes > file.baseline) {
      await eachChange(file, register, signal, (_record, hash) => void sum.add(hash.xx, hash.crc));
    }
    read += file.changes;
    meter.at(read);
    differences.report.rows += sum.rows;
    const there = found.get(file.edition);
    found.delete(file.edition);
    const expected = sum.sum();
    if (there === undefined ? expected.rows === 0 : isSame(expected, there) && there.contradictory === 0) continue;
    const ranges = makeRanges(register, maxRangeRows, async (rows: RangeRows) => {
      differences.compare(rows, await stored.historyRowsOf(file.edition, rows.range), file.edition);
    });
    await eachChange(file, register, signal, (record, hash) => ranges.add(record.stateKey, hash.xx, hash.crc));
    await ranges.end();
  }
  // The editions that are left in `found` have no change file, so their rows are extra. Editions after `input.edition`
  // do not count, because consumers are still writing them.
  for (const edition of found.keys()) {
    if (edition > input.edition) continue;
    for (const { key } of await stored.historyRowsOf(edition, everyKey)) differences.add('extra', key, edition);
  }
}

async function eachChange(
  file: EditionFile,
  register: VerifyInput['register'],
  signal: AbortSignal,
  take: (record: ChangeRecords, hash: RowHash) => Promise<void> | undefined,
): Promise<void> {
  const records = await ChangeRecords.open(file, register);
  const hash = new RowHash();
  try {
    while (await records.nextBlock()) {
      signal.throwIfAborted();
      while (records.step()) {
        if (records.op === baseline) continue;
        hash.ofHistory(records, opNumbers[records.op as 0 | 1 | 2 | 3]);
        const pending = take(records, hash);
        if (pending !== undefined) await pending;
      }
    }
  } finally {
    await records.close();
  }
}
