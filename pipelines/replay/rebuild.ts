import { type RegisterName, registerNames, registers } from '../../schemas/registers.ts';
import { findEdition } from '../editions/editions.ts';
import { readHead } from '../editions/heads.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import type { Pool } from '../runtime/postgres.ts';
import { verifyInChild } from './child.ts';
import { loadEdition } from './fold.ts';
import { inputAt, type PlanParts, servingTables } from './plan.ts';
import { type FoldedEditions, Shadow, shadowTables } from './shadow.ts';
import { ReplayError, type VerifyInput } from './types.ts';

export interface RebuildParts extends PlanParts {
  clickhouse: ClickHouseClient;
}

export interface TablesProgress {
  phase: 'recover' | 'copy' | 'load' | 'verify' | 'exchange';
  register: RegisterName | null;
  edition: number | null;
  rows: number;
  totalRows: number;
}

export interface RebuiltRegister {
  register: RegisterName;
  edition: number;
  rows: number;
}

/**
 * Makes state, history and names of these registers anew from their change files, beside the serving tables, proves the new ones
 * against the archive, and exchanges them. Registers without an edition are left out; all others are copied as they are
 * served. Look-ups go on; consumers go on. Read README.md of this folder for what a death at each step leaves.
 * @throws ReplayError `edition_on_its_way`, `already_running`, `shadow_differs`; the signal's reason
 */
export async function rebuild(
  parts: RebuildParts,
  wanted: readonly RegisterName[],
  report: (progress: TablesProgress) => void,
  signal: AbortSignal,
): Promise<RebuiltRegister[]> {
  return await alone(parts.pool, async () => {
    const shadow = new Shadow(parts.clickhouse);
    report({ phase: 'recover', register: null, edition: null, rows: 0, totalRows: 0 });
    await shadow.recover();
    const inputs = await inputsOf(parts, wanted);
    if (inputs.length === 0) return [];
    const folded = await foldedEditions(parts.pool, inputs);
    try {
      await shadow.create(folded);
      await fillShadow(parts, shadow, inputs, report, signal);
      const rebuilt = await proveShadow(inputs, report, signal);
      report({ phase: 'exchange', register: null, edition: null, rows: 0, totalRows: 0 });
      // An edition that began meanwhile: without this a look-up would miss its rows from the exchange to the next step.
      await shadow.carryOver(folded, servingTables, shadowTables);
      await shadow.exchange();
      await shadow.awaitInserts();
      await shadow.carryOver(folded, shadowTables, servingTables);
      await shadow.drop();
      return rebuilt;
    } catch (error) {
      // The exchange may have happened or not: either way this puts late rows where they are served, and only then drops
      // what is left. Where it fails as well, the next run begins with it.
      await shadow.recover().catch(() => {});
      throw error;
    }
  });
}

async function fillShadow(
  parts: RebuildParts,
  shadow: Shadow,
  inputs: readonly VerifyInput[],
  report: (progress: TablesProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  if (inputs.length < registerNames.length) {
    report({ phase: 'copy', register: null, edition: null, rows: 0, totalRows: 0 });
    await shadow.copyOthers(inputs.map(({ register }) => registers[register].code));
  }
  for (const { register, changeFiles, lastFull } of inputs) {
    const totalRows = changeFiles.reduce((sum, { changes }) => sum + changes, 0);
    let rows = 0;
    for (const file of changeFiles) {
      const told = (more: number) => {
        rows += more;
        report({ phase: 'load', register, edition: file.edition, rows, totalRows });
      };
      // Every edition, not only from the last full one on: a row that disappeared long ago must stay newer than the record
      // that a replay of the topic would bring again.
      const withNames = file.edition >= lastFull;
      await loadEdition(parts.clickhouse, shadowTables, register, file, withNames, told, signal);
    }
  }
}

/** A shadow that is not what the archive says is never served. */
async function proveShadow(
  inputs: readonly VerifyInput[],
  report: (progress: TablesProgress) => void,
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
 * An edition that is published and not materialised is rebuilt too: the shadow has its rows, and consumers write the same ones
 * meanwhile. It is the way out where the state will never have as many of them as the catalogue says.
 */
async function inputsOf(parts: RebuildParts, wanted: readonly RegisterName[]): Promise<VerifyInput[]> {
  const inputs: VerifyInput[] = [];
  for (const register of wanted) {
    const head = await readHead(parts.pool, register);
    if (head.edition === 0) continue;
    const edition = await findEdition(parts.pool, register, head.edition);
    if (edition!.publicada_at === null) {
      const what = `edition ${head.edition} of ${register} is on its way: rebuild once it is published`;
      throw new ReplayError('edition_on_its_way', what, { retryable: true });
    }
    inputs.push(await inputAt(parts, register, head.edition));
  }
  return inputs;
}

/** Of registers that are copied: what is complete before the copy begins. Later rows are carried over with the others. */
async function foldedEditions(pool: Pool, inputs: readonly VerifyInput[]): Promise<FoldedEditions> {
  const { rows } = await pool.query<{ register: RegisterName; number: number }>(
    'SELECT register, max(number) AS number FROM edition WHERE materializada_at IS NOT NULL GROUP BY register',
  );
  const folded = new Map(registerNames.map((register) => [registers[register].code, 0]));
  for (const { register, number } of rows) folded.set(registers[register].code, number);
  for (const { register, edition } of inputs) folded.set(registers[register].code, edition);
  return folded;
}

/** One rebuild at a time: two would drop each other's tables. The lock ends with its connection. */
async function alone<Result>(pool: Pool, work: () => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ locked: boolean }>(
      "SELECT pg_try_advisory_lock(hashtext('padron rebuild')) AS locked",
    );
    if (!rows[0]!.locked) throw new ReplayError('already_running', 'another rebuild is running', { retryable: true });
    try {
      return await work();
    } finally {
      await client.query("SELECT pg_advisory_unlock(hashtext('padron rebuild'))").catch(() => {});
    }
  } finally {
    client.release();
  }
}
