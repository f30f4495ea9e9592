import type { ClickHouseClient } from '../../deploy/runtime/clickhouse.ts';
import { padronReducido } from '../../schemas/registers.ts';

/** Beside look-ups: one thread, which gives way to those that answer people. */
const settings = {
  max_threads: 1,
  os_thread_priority: '15',
  max_memory_usage: String(2 * 1024 * 1024 * 1024),
  max_execution_time: 600,
  optimize_aggregation_in_order: 1,
} as const;

/**
 * How many companies of the state have no name in the index of names, or a name and no place in the state. A name without
 * letters and digits has no row. What the names are is not compared: they were folded from the rows just verified.
 */
export async function countWrongNames(
  clickhouse: ClickHouseClient,
  tables: { state: string; names: string },
): Promise<number> {
  const query = `
    SELECT countIf(live AND written AND NOT named) + countIf(named AND NOT live) AS wrong FROM (
      SELECT ruc, max(is_live) AS live, max(is_written) AS written, max(is_named) AS named FROM (
        SELECT ruc, is_deleted = 0 AS is_live, match(JSONExtractString(row, 1), '[A-Za-z0-9]') AS is_written, 0 AS is_named
        FROM (
          SELECT ruc, is_deleted, row FROM {state:Identifier}
          WHERE register = {register:UInt8} AND ruc >= 20000000000 AND ruc <= 20999999999
          ORDER BY ruc, version DESC LIMIT 1 BY ruc
        )
        UNION ALL
        SELECT ruc, 0, 0, 1
        FROM (SELECT name, ruc, argMax(is_deleted, version) AS gone FROM {names:Identifier} GROUP BY name, ruc)
        WHERE gone = 0
      ) GROUP BY ruc
    )`;
  const result = await clickhouse.query({
    query,
    query_params: { ...tables, register: padronReducido.code },
    format: 'JSONEachRow',
    clickhouse_settings: settings,
  });
  const [row] = await result.json<{ wrong: string }>();
  return Number(row!.wrong);
}
