import { registers } from '../../schemas/registers.ts';
import { baseline } from '../changes/record-bytes.ts';
import { opNumbers } from '../consumers/taxpayer-rows.ts';
import { ChangeRecords } from './change-records.ts';
import { FingerprintSum, isSame, RowHash } from './row-hash.ts';
import { type Differences, type RangeRows, RowRanges, SortedRows } from './row-ranges.ts';
import { everyKey, type StoredRows } from './stored.ts';
import { type EditionFile, type Meter, maxSupplierRows, type VerifyInput, type VerifyLimits } from './types.ts';

interface HistoryParts {
  differences: Differences;
  meter: Meter;
  limits: VerifyLimits;
}

/**
 * The changes in ClickHouse against the records of the change files, edition by edition: one query over all of history,
 * one reading of each file, a second one only of editions that differ. Baselines are no history.
 */
export async function checkHistory(
  input: VerifyInput,
  stored: StoredRows,
  parts: HistoryParts,
  signal: AbortSignal,
): Promise<void> {
  const { differences, meter } = parts;
  const text = registers[input.register].key === 'supplier';
  meter.begin(
    'history',
    input.changeFiles.reduce((sum, { changes }) => sum + changes, 0),
  );
  const found = await stored.historyFingerprints();
  let read = 0;
  for (const file of input.changeFiles) {
    const sum = new FingerprintSum();
    // A first edition has millions of rows and no history.
    if (file.changes > file.baseline) {
      await eachChange(file, text, signal, (_record, hash) => void sum.add(hash.xx, hash.crc));
    }
    read += file.changes;
    meter.at(read);
    differences.report.rows += sum.rows;
    const there = found.get(file.edition);
    found.delete(file.edition);
    const expected = sum.sum();
    if (there === undefined ? expected.rows === 0 : isSame(expected, there) && there.contradictory === 0) continue;
    await listEdition(file, text, stored, parts, signal);
  }
  // Rows of editions that do not exist; those of a later one are on their way.
  for (const edition of found.keys()) {
    if (edition > input.edition) continue;
    for (const { key } of await stored.historyRowsOf(edition, everyKey)) differences.add('extra', key, edition);
  }
}

async function listEdition(
  file: EditionFile,
  text: boolean,
  stored: StoredRows,
  { differences, limits }: HistoryParts,
  signal: AbortSignal,
): Promise<void> {
  const ranges = new RowRanges(limits.maxRangeRows, async (expected: RangeRows) => {
    differences.compare(expected, await stored.historyRowsOf(file.edition, expected.range), file.edition);
  });
  const sorted = text ? new SortedRows(maxSupplierRows) : null;
  await eachChange(file, text, signal, (record, hash) => {
    if (sorted === null) return ranges.add(record.stateKey, hash.xx, hash.crc);
    sorted.add(record.stateKey, hash.xx, hash.crc);
    return undefined;
  });
  await sorted?.giveTo(ranges);
  await ranges.end();
}

async function eachChange(
  file: EditionFile,
  text: boolean,
  signal: AbortSignal,
  take: (record: ChangeRecords, hash: RowHash) => Promise<void> | undefined,
): Promise<void> {
  const records = await ChangeRecords.open(file, text);
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
