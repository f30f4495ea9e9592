import { changesTopic, type RegisterName, registers } from '../../schemas/registers.ts';
import { editionPartitions, editionsBeyond, findEdition } from '../editions/editions.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import type { Pool } from '../runtime/postgres.ts';
import { StreamError, type StreamOffsets } from './kafka.ts';
import { materializeGroup } from './topics.ts';

interface ProgressParts {
  pool: Pool;
  offsets: StreamOffsets;
  prefix: string;
}

/**
 * Whether the group has committed everything up to the edition's end, in every partition. False before it is published, and where
 * the group stands beyond the log's end: the log has lost what it had read there, and what came in its place it may not have read.
 */
export async function groupPassed(
  { pool, offsets, prefix }: ProgressParts,
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

/** Editions that Kafka lost (a wiped or cut log), oldest first: each is to be published again from its change file. */
export async function editionsToRepublish(
  { pool, offsets, prefix }: ProgressParts,
  register: RegisterName,
): Promise<number[]> {
  return editionsBeyond(pool, register, await offsets.ends(changesTopic(prefix, register)));
}

export interface MaterialisedParts extends ProgressParts {
  clickhouse: ClickHouseClient;
}

const countLimits = { max_threads: 1, max_memory_usage: String(512 * 1024 * 1024), max_execution_time: 120 } as const;

/**
 * Whether the state in ClickHouse is this edition's: `materialize` has committed past its end in every partition, and the
 * rows that stand at its version (taxpayers, suppliers) are as many as its changes in the catalogue, a correction's too. Call
 * it before a later edition is published, which takes rows to its own version.
 * @throws StreamError `materialised_count_differs`: rows are missing or too many, and waiting will not help
 */
export async function checkMaterialised(
  parts: MaterialisedParts,
  register: RegisterName,
  edition: number,
): Promise<'not_yet' | 'materialised'> {
  if (!(await groupPassed(parts, materializeGroup(parts.prefix), register, edition))) return 'not_yet';
  const row = await findEdition(parts.pool, register, edition);
  if (row === null)
    throw new StreamError('edition_unknown', `edition ${edition} is not in the catalogue`, { retryable: false });
  const found = await countAtVersion(parts.clickhouse, register, edition);
  if (found === row.changes) return 'materialised';
  throw new StreamError(
    'materialised_count_differs',
    `edition ${edition} of ${register} has ${row.changes} changes, but ${found} rows stand at it in ClickHouse: ` +
      `where rows are missing, \`padron editions republish ${register} ${edition}\` brings them; ` +
      `\`padron rebuild --register ${register}\` makes all of them anew`,
    { retryable: false },
  );
}

/** Distinct keys at a version. In the table's own order, so that nothing is kept in memory but the current one. */
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
      ...countLimits,
      optimize_aggregation_in_order: 1,
      output_format_json_quote_64bit_integers: 1,
    },
  });
  const [row] = await result.json<{ found: string }>();
  return Number(row!.found);
}
