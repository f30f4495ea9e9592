import { type RegisterName, registerNames, registers } from '../../schemas/registers.ts';
import { servingTables } from '../consumers/materialize.ts';
import { findEdition } from '../editions/editions.ts';
import { readHead } from '../editions/heads.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import type { Pool } from '../runtime/postgres.ts';
import { verifyInChild } from './child.ts';
import { loadEdition } from './fold.ts';
import { inputAt, type PlanDependencies } from './plan.ts';
import { type FoldedEditions, Shadow, shadowTables } from './shadow.ts';
import { changesIn, ReplayError, type VerifyInput } from './types.ts';

type RebuildDependencies = PlanDependencies & {
  clickhouse: ClickHouseClient;
  /** The replica of that name, if there are several. */
  replica?: string;
};

interface RebuildProgress {
  phase: 'recover' | 'copy' | 'load' | 'verify' | 'exchange';
  register: RegisterName | null;
  edition: number | null;
  rows: number;
  totalRows: number;
}

interface RebuiltRegister {
  register: RegisterName;
  edition: number;
  rows: number;
}

/**
 * Rebuilds state, history and names of these registers, except registers without an edition:
 * - Fill new tables (shadow.ts) from the change files, and copy all other registers' rows from the serving tables.
 * - Verify the new tables against the archive, and exchange them with the serving tables.
 * Look-ups and consumers continue meanwhile. This folder's README lists what is left if the process dies at a step.
 * @throws ReplayError `already_running`; `edition_on_its_way` while an edition is being published
 * @throws ReplayError `shadow_differs` when the new tables are wrong; the signal's reason when the signal aborts
 */
export async function rebuild(
  dependencies: RebuildDependencies,
  wanted: readonly RegisterName[],
  report: (progress: RebuildProgress) => void,
  signal: AbortSignal,
): Promise<RebuiltRegister[]> {
  return await alone(dependencies.pool, async () => {
    const shadow = new Shadow(dependencies.clickhouse);
    report({ phase: 'recover', register: null, edition: null, rows: 0, totalRows: 0 });
    await shadow.recover();
    const inputs = await inputsOf(dependencies, wanted);
    if (inputs.length === 0) return [];
    const folded = await foldedEditions(dependencies, inputs);
    try {
      await shadow.create(folded);
      await fillShadow(dependencies, shadow, inputs, report, signal);
      const rebuilt = await verifyShadow(inputs, report, signal);
      report({ phase: 'exchange', register: null, edition: null, rows: 0, totalRows: 0 });
      // Copy the rows of later editions from the serving tables into the shadow tables. Consumers may have written such
      // rows while the shadow tables were filled. Otherwise look-ups would miss these rows after the exchange.
      await shadow.carryOver(folded, servingTables, shadowTables);
      await shadow.exchange();
      await shadow.awaitInserts();
      await shadow.carryOver(folded, shadowTables, servingTables);
      await shadow.drop();
      return rebuilt;
    } catch (error) {
      // `recover` copies the rows of editions that are newer than the rebuilt ones from the shadow tables into the
      // serving tables, then drops the shadow tables. After the exchange, perhaps only the shadow tables have such rows.
      // Before it, the copy does no harm. If `recover` fails too, the next rebuild begins with `recover`.
      await shadow.recover().catch(() => {});
      throw error;
    }
  });
}

async function fillShadow(
  dependencies: RebuildDependencies,
  shadow: Shadow,
  inputs: readonly VerifyInput[],
  report: (progress: RebuildProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  if (inputs.length < registerNames.length) {
    report({ phase: 'copy', register: null, edition: null, rows: 0, totalRows: 0 });
    await shadow.copyOthers(inputs.map(({ register }) => registers[register].code));
  }
  for (const { register, changeFiles, lastFull } of inputs) {
    const totalRows = changesIn(changeFiles);
    let rows = 0;
    // Load editions before `lastFull` (the last full edition) too, for the marks of the rows that they deleted. The
    // topic still has older records of these rows. Without a mark, a replay of such a record would bring the row back.
    for (const file of changeFiles) {
      const reportMore = (more: number) => {
        rows += more;
        report({ phase: 'load', register, edition: file.edition, rows, totalRows });
      };
      const withNames = file.edition >= lastFull;
      await loadEdition(dependencies.clickhouse, shadowTables, register, file, withNames, reportMore, signal);
    }
  }
}

/** Verifies the shadow tables. It throws when they differ from the archive, so that they are never served. */
async function verifyShadow(
  inputs: readonly VerifyInput[],
  report: (progress: RebuildProgress) => void,
  signal: AbortSignal,
): Promise<RebuiltRegister[]> {
  const rebuilt: RebuiltRegister[] = [];
  for (const input of inputs) {
    const { register, edition } = input;
    const found = await verifyInChild(
      { ...input, tables: shadowTables, publication: null },
      ({ rows, totalRows }) => report({ phase: 'verify', register, edition, rows, totalRows }),
      signal,
    );
    if (!found.equal) {
      const what = `${found.differences} rows of ${register} in the rebuilt tables are not what the change files say`;
      throw new ReplayError('shadow_differs', what);
    }
    rebuilt.push({ register, edition, rows: found.rows });
  }
  return rebuilt;
}

/**
 * Makes the inputs of a rebuild. A head that is in Kafka is rebuilt even if it is still incomplete in ClickHouse.
 * Usually the consumers are just writing its rows. But if ClickHouse has lost rows, waiting would not help.
 */
async function inputsOf(dependencies: RebuildDependencies, wanted: readonly RegisterName[]): Promise<VerifyInput[]> {
  const inputs: VerifyInput[] = [];
  for (const register of wanted) {
    const head = await readHead(dependencies.pool, register);
    if (head.edition === 0) continue;
    const edition = await findEdition(dependencies.pool, register, head.edition);
    if (edition!.publicada_at === null) {
      const what = `edition ${head.edition} of ${register} is being published: rebuild when that has ended`;
      throw new ReplayError('edition_on_its_way', what, { retryable: true });
    }
    inputs.push(await inputAt(dependencies, register, head.edition));
  }
  return inputs;
}

/**
 * Maps each register's code to the last of its editions that the shadow tables hold whole, or to 0. A register that is
 * not rebuilt is copied from the serving tables. Its last whole edition is the last materialised one, or the one that
 * the replica holds.
 */
async function foldedEditions(
  { pool, replica }: RebuildDependencies,
  inputs: readonly VerifyInput[],
): Promise<FoldedEditions> {
  const { rows } = await pool.query<{ register: RegisterName; number: number }>(
    replica === undefined
      ? 'SELECT register, max(number) AS number FROM edition WHERE materializada_at IS NOT NULL GROUP BY register'
      : 'SELECT register, edition AS number FROM replica_edition WHERE replica = $1',
    replica === undefined ? [] : [replica],
  );
  const folded = new Map(registerNames.map((register) => [registers[register].code, 0]));
  for (const { register, number } of rows) folded.set(registers[register].code, number);
  for (const { register, edition } of inputs) folded.set(registers[register].code, edition);
  return folded;
}

const lockName = "hashtext('padron rebuild')";

/** Runs `work` under a lock: two rebuilds at once would drop each other's tables. The lock ends with its connection. */
async function alone<Result>(pool: Pool, work: () => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ locked: boolean }>(`SELECT pg_try_advisory_lock(${lockName}) AS locked`);
    if (!rows[0]!.locked) throw new ReplayError('already_running', 'another rebuild is running', { retryable: true });
    try {
      return await work();
    } finally {
      await client.query(`SELECT pg_advisory_unlock(${lockName})`).catch(() => {});
    }
  } finally {
    client.release();
  }
}

/** Whether a rebuild is running now. PostgreSQL shows the lower 32 bits of a lock's number as `objid`. */
export async function isRebuilding(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ running: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
       WHERE datname = current_database() AND locktype = 'advisory' AND granted
         AND objid::bigint = ${lockName}::bigint & 4294967295) AS running`,
  );
  return rows[0]!.running;
}
