import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';

/**
 * One thread: the engine is shared with every other look-up. A whole answer or an error, never the start of one. Narrow steps through
 * the index: single RUCs are looked for, not ranges. What pays in long queries is off, a sixth of the work of these: the newer
 * analysis, a first pass over the columns of conditions, a cache of what did not match.
 */
const settings = {
  max_threads: 1,
  wait_end_of_query: 1,
  merge_tree_coarse_index_granularity: '2',
  enable_analyzer: 0,
  optimize_move_to_prewhere: 0,
  use_query_condition_cache: 0,
} as const;

/** The answer of a look-up's query, whole. */
export async function queryBytes(clickhouse: ClickHouseClient, query: string): Promise<Buffer> {
  const { stream } = await clickhouse.exec({
    query,
    clickhouse_settings: settings,
  });
  const pieces: Buffer[] = [];
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece);
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}
