import { padronReducido, type RegisterName } from '../../schemas/registers.ts';
import { sha256OfFile } from '../archive/local-copies.ts';
import { disappears } from '../changes/record-bytes.ts';
import { makeClickhouse } from '../runtime/clickhouse.ts';
import { verifyInChild } from './child.ts';
import { fold } from './fold.ts';
import { checkHistory } from './history-check.ts';
import { NameCheck } from './name-check.ts';
import { ExpectedOverlay } from './overlay.ts';
import { type PlanDependencies, planVerification, type VerifyPlan } from './plan.ts';
import { checkPublication } from './publication-check.ts';
import { isSame, RowHash } from './row-hash.ts';
import { Differences, makeRanges, type RangeRows } from './row-ranges.ts';
import { StoredRows } from './stored.ts';
import {
  type EditionFile,
  type ListedDifference,
  Meter,
  ReplayError,
  type VerifyInput,
  type VerifyProgress,
  type VerifyReport,
} from './types.ts';

const requestTimeoutMs = 600_000;
/** Most rows in one range of keys. The hashes of these rows are held in memory while ClickHouse reads the range. */
const mostRangeRows = 200_000;

/**
 * Compares the state, the index of names and the history in ClickHouse with the change files. Repairs nothing. If
 * `input` has a publication, also compares the state with the publication and its overlay. The memory that this takes
 * does not grow with the register.
 * @throws ReplayError when a file of the archive is damaged, or when there are too many files or rows
 * @throws ClickHouse's own error; the signal's reason when the signal aborts
 */
export async function verify(
  input: VerifyInput,
  report: (progress: VerifyProgress) => void,
  signal: AbortSignal,
  maxRangeRows = mostRangeRows,
): Promise<VerifyReport> {
  const meter = new Meter(report);
  const listed: ListedDifference[] = [];
  const state = new Differences('state', listed);
  const names = new Differences('names', listed);
  const history = new Differences('history', listed);
  const publication = new Differences('publication', listed);
  const hasNames = input.register === padronReducido.name;
  await checkHashes(input.changeFiles, meter, signal);
  const clickhouse = makeClickhouse(input.clickhouseTarget, 'padron-verify', { requestTimeoutMs, connections: 2 });
  let later: number;
  try {
    const stored = new StoredRows(clickhouse, input.tables, input.register);
    const overlayPath = input.publication?.overlayPath ?? null;
    const overlay = await ExpectedOverlay.read(overlayPath, input.register, new RowHash());
    const nameCheck = hasNames ? new NameCheck(clickhouse, input, names, maxRangeRows) : null;
    const stateCheck = { differences: state, overlay, names: nameCheck, meter, maxRangeRows };
    later = await checkState(input, stored, stateCheck, signal);
    await checkHistory(input, stored, { differences: history, meter, maxRangeRows }, signal);
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

/**
 * Checks that the change files have the SHA-256 hashes that PostgreSQL holds for them. A comparison with other files
 * would prove nothing.
 */
async function checkHashes(files: readonly EditionFile[], meter: Meter, signal: AbortSignal): Promise<void> {
  meter.begin('files', files);
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
 * Compares the rows in ClickHouse that are not deleted with the state of the change files (`fold`), range by range. The
 * same pass over the files gives every row to `overlay` and to `names`, for their own checks. Resolves with the number
 * of rows in ClickHouse that editions after the verified edition wrote.
 */
async function checkState(
  input: VerifyInput,
  stored: StoredRows,
  dependencies: {
    differences: Differences;
    overlay: ExpectedOverlay;
    names: NameCheck | null;
    meter: Meter;
    maxRangeRows: number;
  },
  signal: AbortSignal,
): Promise<number> {
  const { differences, overlay, names, meter, maxRangeRows } = dependencies;
  const hash = new RowHash();
  let later = 0;
  const ranges = makeRanges(input.register, maxRangeRows, async (expected: RangeRows) => {
    const found = await stored.stateFingerprint(expected.range, input.edition);
    later += found.later;
    if (isSame(expected.fingerprint, found) && found.contradictory === 0) return;
    differences.compare(expected, await stored.stateRows(expected.range), null);
  });
  const files = input.changeFiles.filter(({ edition }) => edition >= input.lastFull);
  meter.begin('state', files);
  await fold(
    input.register,
    files,
    (record) => {
      if (record.op === disappears) return undefined;
      hash.ofState(record);
      differences.report.rows += 1;
      const { xx, crc } = hash;
      overlay.take(record, hash);
      const named = names?.take(record);
      const added = ranges.add(record.stateKey, xx, crc);
      return named === undefined ? added : Promise.all([named, added]).then(() => {});
    },
    { signal, report: (records) => meter.at(records) },
  );
  await ranges.end();
  await names?.end();
  return later;
}

export type VerifyOutcome = { kind: 'verified'; report: VerifyReport } | Exclude<VerifyPlan, { kind: 'ready' }>;

/**
 * Verifies a register's serving tables at its head. A new edition may replace rows before the verification reads them.
 * The tables then differ from the head's change files. The outcome is `on_its_way`, and differences do not count, when
 * both of these hold:
 * - The tables differ or hold rows of a later edition.
 * - A new edition has come meanwhile or is on its way.
 * @throws ReplayError when the verification fails; ArchiveError when a change file is missing
 * @throws the signal's reason when the signal aborts
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
