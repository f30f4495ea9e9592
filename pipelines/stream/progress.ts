import { changesTopic, editionsTopic, type RegisterName, registers } from '../../schemas/registers.ts';
import { editionPartitions, editionsBeyond, findEdition } from '../editions/editions.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import type { Pool } from '../runtime/postgres.ts';
import { StreamError, type StreamOffsets } from './kafka.ts';
import { materializeGroup } from './topics.ts';

interface ProgressDependencies {
  pool: Pool;
  offsets: StreamOffsets;
  prefix: string;
}

/**
 * Whether the consumer group has committed everything up to the edition's end in every partition.
 * - False until the edition's ends are recorded.
 * - False when the group has committed past the end of the log. Then the log lost records, and perhaps the group has
 *   not read the records that replaced them.
 */
export async function groupPassed(
  { pool, offsets, prefix }: ProgressDependencies,
  group: string,
  register: RegisterName,
  edition: number,
): Promise<boolean> {
  const ends = await editionPartitions(pool, register, edition);
  if (ends.length === 0) return false;
  const topic = changesTopic(prefix, register);
  const committed = await offsets.committed(group, topic);
  if (!ends.every(({ partition, end_offset }) => (committed[partition] ?? 0) >= end_offset)) return false;
  const logEnds = await offsets.ends(topic);
  return logEnds.every((end, partition) => (committed[partition] ?? 0) <= end);
}

/**
 * Returns the editions whose records Kafka lost because a log was wiped, cut or restored from an old copy, oldest first.
 * Each must be produced again from its change file.
 */
export async function editionsToRepublish(
  { pool, offsets, prefix }: ProgressDependencies,
  register: RegisterName,
): Promise<number[]> {
  const [editionsEnd = 0] = await offsets.ends(editionsTopic(prefix, register));
  return editionsBeyond(pool, register, await offsets.ends(changesTopic(prefix, register)), editionsEnd);
}

/**
 * Whether ClickHouse, or one replica of it, has the complete state of this edition. Two things must hold:
 * - The group `materialize` of this server has committed past the edition's end in every partition.
 * - The number of rows with the edition's version equals the number of changes in the catalogue.
 * A row that a later edition changes gets the later version, and is missing from this count. So if the catalogue has a
 * later edition (`padron editions adopt` may bring several), the edition's rows are counted in the history instead. The
 * history has all of the edition's changes except the rows that it only repeated (op `r`).
 * @throws StreamError `materialised_count_differs` if there are too few or too many rows; waiting does not repair this
 */
export async function checkMaterialised(
  dependencies: ProgressDependencies & { clickhouse: ClickHouseClient; replica?: string },
  register: RegisterName,
  edition: number,
): Promise<'not_yet' | 'materialised'> {
  const group = materializeGroup(dependencies.prefix, dependencies.replica);
  if (!(await groupPassed(dependencies, group, register, edition))) return 'not_yet';
  const { pool, clickhouse, replica } = dependencies;
  const { changes, counts } = (await findEdition(pool, register, edition))!;
  const isLast = (await findEdition(pool, register, edition + 1)) === null;
  const expected = isLast ? changes : changes - Number(counts.baseline ?? 0);
  const found = await (isLast ? countAtVersion : countInHistory)(clickhouse, register, edition);
  if (found === expected) return 'materialised';
  throw new StreamError(
    'materialised_count_differs',
    `edition ${edition} of ${register} has ${expected} changes, but ${found} rows stand at it in ClickHouse: ` +
      `where rows are missing, \`padron editions republish ${register} ${edition}\` brings them; ` +
      `\`padron rebuild --register ${register}${replica === undefined ? '' : ` --replica ${replica}`}\` makes all of ` +
      'them again',
  );
}

/**
 * The version of the register's own rows, and 0 for all others. `edition_index` (schemas/clickhouse) has this expression
 * for each register, so a condition on it reads only few rows of the table.
 */
const versionOf = (register: RegisterName) => `if(register = ${registers[register].code}, version, 0)`;

/**
 * Counts the distinct keys whose rows have this version (the number of the edition that wrote them). `countSettings`
 * makes ClickHouse group in the table's own order, so that only one key is in memory at a time.
 */
export function countAtVersion(clickhouse: ClickHouseClient, register: RegisterName, version: number): Promise<number> {
  const keys = `SELECT ruc FROM taxpayer WHERE register = {register:UInt8} AND version = {version:UInt64}
    AND ${versionOf(register)} = {version:UInt64} GROUP BY ruc`;
  const query = `SELECT count() AS found FROM (${keys})`;
  return numberFrom(clickhouse, query, { register: registers[register].code, version });
}

/** Counts the distinct keys that the edition changed. */
function countInHistory(clickhouse: ClickHouseClient, register: RegisterName, edition: number): Promise<number> {
  const keys =
    'SELECT ruc FROM register_change WHERE register = {register:UInt8} AND edition = {edition:UInt64} GROUP BY ruc';
  const query = `SELECT count() AS found FROM (${keys})`;
  return numberFrom(clickhouse, query, { register: registers[register].code, edition });
}

/** The highest version above `edition` that a row of the register has; 0 if no row has one. */
export function versionAbove(clickhouse: ClickHouseClient, register: RegisterName, edition: number): Promise<number> {
  const query = `SELECT max(version) AS found FROM taxpayer
    WHERE register = {register:UInt8} AND ${versionOf(register)} > {edition:UInt64}`;
  return numberFrom(clickhouse, query, { register: registers[register].code, edition });
}

/** Whether a row of the register has this version or a higher one. The search ends at the first such row. */
export async function hasVersionFrom(
  clickhouse: ClickHouseClient,
  register: RegisterName,
  edition: number,
): Promise<boolean> {
  const query = `SELECT count() AS found FROM (SELECT 1 FROM taxpayer
    WHERE register = {register:UInt8} AND ${versionOf(register)} >= {edition:UInt64} LIMIT 1)`;
  return (await numberFrom(clickhouse, query, { register: registers[register].code, edition })) > 0;
}

const countSettings = {
  max_threads: 1,
  max_memory_usage: String(512 * 1024 * 1024),
  max_execution_time: 120,
  optimize_aggregation_in_order: 1,
  output_format_json_quote_64bit_integers: 1,
} as const;

async function numberFrom(
  clickhouse: ClickHouseClient,
  query: string,
  values: Record<string, number>,
): Promise<number> {
  const result = await clickhouse.query({
    query,
    query_params: values,
    format: 'JSONEachRow',
    clickhouse_settings: countSettings,
  });
  const [row] = await result.json<{ found: string }>();
  return Number(row!.found);
}
