import { registers } from '../../schemas/registers.ts';
import { disappears } from '../changes/record-bytes.ts';
import { fold } from './fold.ts';
import type { NameCheck } from './name-check.ts';
import type { ExpectedOverlay } from './overlay.ts';
import { isSame, RowHash } from './row-hash.ts';
import { type Differences, RowRanges, SortedRows } from './row-ranges.ts';
import type { StoredRows } from './stored.ts';
import { type Meter, maxSupplierRows, type VerifyInput, type VerifyLimits } from './types.ts';

/**
 * Compares the live rows in ClickHouse with the folded change files, range by range. The overlay and the name check
 * take the same rows. Resolves with the number of rows of a later edition that it saw.
 */
export async function checkState(
  input: VerifyInput,
  stored: StoredRows,
  dependencies: {
    differences: Differences;
    overlay: ExpectedOverlay | null;
    names: NameCheck | null;
    meter: Meter;
    limits: VerifyLimits;
  },
  signal: AbortSignal,
): Promise<number> {
  const { differences, overlay, names, meter, limits } = dependencies;
  const inOrder = registers[input.register].key === 'ruc';
  const ranges = new RowRanges(limits.maxRangeRows, compareRange);
  const sorted = inOrder ? null : new SortedRows(maxSupplierRows);
  const hash = new RowHash();
  let later = 0;

  async function compareRange(expected: Parameters<typeof differences.compare>[0]): Promise<void> {
    const found = await stored.stateFingerprint(expected.range, input.edition);
    later += found.later;
    if (isSame(expected.fingerprint, found) && found.contradictory === 0) return;
    differences.compare(expected, await stored.stateRows(expected.range), null);
  }

  const files = input.changeFiles.filter(({ edition }) => edition >= input.lastFull);
  meter.begin(
    'state',
    files.reduce((sum, { changes }) => sum + changes, 0),
  );
  await fold(
    input.register,
    files,
    (record) => {
      if (record.op === disappears) return undefined;
      hash.ofState(record);
      differences.report.rows += 1;
      const { xx, crc } = hash;
      if (overlay !== null && overlay.size > 0) overlay.take(record, hash);
      const named = names?.take(record);
      const added = sorted === null ? ranges.add(record.stateKey, xx, crc) : sorted.add(record.stateKey, xx, crc);
      return named === undefined ? added : Promise.all([named, added]).then(() => {});
    },
    { maxFiles: limits.maxFiles, signal, report: (records) => meter.at(records) },
  );
  await sorted?.addTo(ranges);
  await ranges.end();
  await names?.end();
  return later;
}
