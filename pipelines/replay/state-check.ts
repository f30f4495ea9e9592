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
 * The live rows in ClickHouse against the folded change files, range by range; overlay and names meet the same rows on the way.
 * Resolves with how many rows of a later edition it met.
 */
export async function checkState(
  input: VerifyInput,
  stored: StoredRows,
  parts: {
    differences: Differences;
    overlay: ExpectedOverlay | null;
    names: NameCheck | null;
    meter: Meter;
    limits: VerifyLimits;
  },
  signal: AbortSignal,
): Promise<number> {
  const { differences, overlay, names, meter, limits } = parts;
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
      if (overlay !== null && overlay.size > 0) overlay.meet(record, hash);
      const named = names?.meet(record);
      const added = sorted === null ? ranges.add(record.stateKey, xx, crc) : sorted.add(record.stateKey, xx, crc);
      return named === undefined ? added : Promise.all([named, added]).then(() => {});
    },
    { maxFiles: limits.maxFiles, signal, report: (records) => meter.at(records) },
  );
  await sorted?.giveTo(ranges);
  await ranges.end();
  await names?.end();
  return later;
}
