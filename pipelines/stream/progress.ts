import { changesTopic, type RegisterName, registers } from '../../schemas/registers.ts';
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
 * Returns the editions whose records Kafka lost because a log was wiped or cut, oldest first. Each must be produced
 * again from its change file.
 */
export async function editionsToRepublish(
  { pool, offsets, prefix }: ProgressDependencies,
  register: RegisterName,
): Promise<number[]> {
  return editionsBeyond(pool, register, await offsets.ends(changesTopic(prefix, register)));
}

/**
 * Whether ClickHouse has the complete state of this edition. Two things must hold:
 * - The group `materialize` has committed past the edition's end in every partition.
 * - The number of rows with the edition's version equals the number of changes in the catalogue.
 * Call this before a later edition is produced. A row that the later edition changes gets the later version. The row
 * would then be missing from this count.
 * @throws StreamError `materialised_count_differs` if there are too few or too many rows; waiting does not repair this
 */
export async function checkMaterialised(
  dependencies: ProgressDependencies & { clickhouse: ClickHouseClient },
  register: RegisterName,
  edition: number,
): Promise<'not_yet' | 'materialised'> {
  if (!(await groupPassed(dependencies, materializeGroup(dependencies.prefix), register, edition))) return 'not_yet';
  const { changes } = (await findEdition(dependencies.pool, register, edition))!;
  const found = await countAtVersion(dependencies.clickhouse, register, edition);
  if (found === changes) return 'materialised';
  throw new StreamError(
    'materialised_count_differs',
    `edition ${edition} of ${register} has ${changes} changes, but ${found} rows stand at it in ClickHouse: ` +
      `where rows are missing, \`padron editions republish ${register} ${edition}\` brings them; ` +
      `\`padron rebuild --register ${register}\` makes all of them again`,
  );
}

/**
 * Counts the distinct keys whose rows have this version. ClickHouse reads the table in its own order, so that only one
 * key is in memory at a time.
 */
export async function countAtVersion(
  clickhouse: ClickHouseClient,
  register: RegisterName,
  version: number,
): Promise<number> {
  const result = await clickhouse.query({
    query: `SELECT count() AS found FROM (
      SELECT ruc FROM taxpayer WHERE register = {register:UInt8} AND version = {version:UInt64} GROUP BY ruc)`,
    query_params: { register: registers[register].code, version },
    format: 'JSONEachRow',
    clickhouse_settings: {
      max_threads: 1,
      max_memory_usage: String(512 * 1024 * 1024),
      max_execution_time: 120,
      optimize_aggregation_in_order: 1,
      output_format_json_quote_64bit_integers: 1,
    },
  });
  const [row] = await result.json<{ found: string }>();
  return Number(row!.found);
}
