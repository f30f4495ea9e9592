import { padronReducido, type RegisterName, registers } from '../../schemas/registers.ts';
import { sha256OfFile } from '../archive/local-copies.ts';
import { disappears } from '../changes/record-bytes.ts';
import { makeClickhouse } from '../runtime/clickhouse.ts';
import { verifyInChild } from './child.ts';
import { fold, wordTable } from './fold.ts';
import { checkHistory } from './history-check.ts';
import { NameCheck, StoredNames } from './name-check.ts';
import { ExpectedOverlay } from './overlay.ts';
import { type PlanDependencies, planVerification } from './plan.ts';
import { checkPublication } from './publication-check.ts';
import { isSame, RowHash } from './row-hash.ts';
import { Differences, RowRanges, SortedRows } from './row-ranges.ts';
import { StoredRows } from './stored.ts';
import {
  type EditionFile,
  type ListedDifference,
  Meter,
  maxSupplierRows,
  ReplayError,
  type VerifyInput,
  type VerifyLimits,
  type VerifyProgress,
  type VerifyReport,
  verifyLimits,
} from './types.ts';

const requestTimeoutMs = 600_000;

/**
 * Compares state, names and history in ClickHouse with the change files, and the state with its publication and
 * overlay. It repairs nothing, and its memory does not grow with the register.
 * @throws ReplayError when the archive itself cannot be read; an engine's own error; the signal's reason
 */
export async function verify(
  input: VerifyInput,
  report: (progress: VerifyProgress) => void,
  signal: AbortSignal,
): Promise<VerifyReport> {
  const limits = { ...verifyLimits, ...input.limits };
  const meter = new Meter(report);
  const listed: ListedDifference[] = [];
  const state = new Differences('state', listed, limits.maxListed);
  const names = new Differences('names', listed, limits.maxListed);
  const history = new Differences('history', listed, limits.maxListed);
  const publication = new Differences('publication', listed, limits.maxListed);
  const hasNames = input.register === padronReducido.name;
  await checkHashes(input.changeFiles, meter, signal);
  const clickhouse = makeClickhouse(input.clickhouseUrl, 'padron-verify', { requestTimeoutMs, connections: 2 });
  let later: number;
  try {
    const stored = new StoredRows(clickhouse, input.tables, input.register);
    const overlayPath = input.publication?.overlayPath ?? null;
    const overlay = await ExpectedOverlay.read(overlayPath, input.register, new RowHash(), limits.maxOverlayRows);
    const tables = { names: input.tables.names, words: wordTable };
    const storedNames = new StoredNames(clickhouse, tables, input.lastFull);
    const nameCheck = hasNames ? new NameCheck(storedNames, names, limits) : null;
    later = await checkState(input, stored, { differences: state, overlay, names: nameCheck, meter, limits }, signal);
    await checkHistory(input, stored, { differences: history, meter, limits }, signal);
    if (input.publication !== null) {
      await checkPublication(input, input.publication, { differences: publication, overlay, meter }, signal);
    }
  } finally {
    await clickhouse.close();
  }
  const differences = state.total + names.total + history.total + publication.total;
  return {
    register: input.register,
    edition: input.edition,
    rows: state.report.rows,
    equal: differences === 0,
    differences,
    state: state.report,
    names: hasNames ? names.report : null,
    history: history.report,
    publication: input.publication === null ? null : publication.report,
    publicationNote: input.publicationNote,
    laterRows: later,
    listed,
  };
}

/** Checks that the change files have the hashes in the catalogue. A comparison with other files would prove nothing. */
async function checkHashes(files: readonly EditionFile[], meter: Meter, signal: AbortSignal): Promise<void> {
  meter.begin(
    'files',
    files.reduce((sum, { changes }) => sum + changes, 0),
  );
  let rows = 0;
  for (const { edition, path, sha256, changes } of files) {
    signal.throwIfAborted();
    if ((await sha256OfFile(path)) !== sha256) {
      const what = `the change file of edition ${edition} is not the one that the edition was frozen with`;
      throw new ReplayError('change_file_damaged', what);
    }
    rows += changes;
    meter.at(rows);
  }
}

/**
 * Compares the live rows in ClickHouse with the folded change files, range by range. The overlay and the name check
 * take the same folded rows. Resolves with the number of rows in ClickHouse of a later edition than the verified one.
 */
async function checkState(
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

/** `on_its_way`: an edition is being written, so ClickHouse is between two states. Verify again later. */
export type VerifyOutcome =
  | { kind: 'verified'; report: VerifyReport }
  | { kind: 'on_its_way'; edition: number }
  | { kind: 'no_edition' };

/**
 * Verifies a register's serving tables at its head. If the head moved meanwhile, the outcome is `on_its_way` and
 * differences do not count, because the new edition replaces rows before they are read.
 * @throws ReplayError, ArchiveError; the signal's reason
 */
export async function verifyRegister(
  dependencies: PlanDependencies,
  register: RegisterName,
  report: (progress: VerifyProgress) => void,
  signal: AbortSignal,
): Promise<VerifyOutcome> {
  const plan = await planVerification(dependencies, register);
  if (plan.kind !== 'ready') return plan;
  const found = await verifyInChild(plan.input, report, signal);
  if (found.equal && found.laterRows === 0) return { kind: 'verified', report: found };
  const now = await planVerification(dependencies, register);
  if (now.kind === 'on_its_way') return now;
  if (now.kind === 'ready' && now.input.edition !== plan.input.edition) {
    return { kind: 'on_its_way', edition: now.input.edition };
  }
  return { kind: 'verified', report: found };
}
