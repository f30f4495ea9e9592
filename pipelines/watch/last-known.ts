import type { Register } from '../../schemas/registers.ts';
import type { Row } from '../changes/record.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';

/** The rows that RUCs had when they last disappeared, before an edition; RUCs that never did are left out. */
export type LastKnownRows = (
  register: Register,
  rucs: readonly string[],
  beforeEdition: number,
) => Promise<ReadonlyMap<string, Row>>;

/**
 * Reads them from the change history. An edition is published only when the one before it stands complete there, so the
 * answer for an edition never changes: events stay a pure function of the change and what came before it.
 */
export function makeLastKnownRows(clickhouse: ClickHouseClient): LastKnownRows {
  return async (register, rucs, beforeEdition) => {
    if (rucs.length === 0) return new Map();
    const result = await clickhouse.query({
      // No FINAL: a repeated row of one change is the same row.
      query: `SELECT toString(ruc) AS key, argMax(before, edition) AS last FROM register_change
        WHERE register = {register: UInt8} AND ruc IN {rucs: Array(UInt64)} AND op = 'd' AND edition < {edition: UInt64}
        GROUP BY ruc`,
      query_params: { register: register.code, rucs: rucs.map(Number), edition: beforeEdition },
      format: 'JSONEachRow',
    });
    const rows = await result.json<{ key: string; last: string | null }>();
    return new Map(rows.flatMap(({ key, last }) => (last === null ? [] : [[key, unpack(register, last)] as const])));
  };
}

function unpack(register: Register, packed: string): Row {
  const cells = JSON.parse(packed) as string[];
  return Object.fromEntries(register.columns.map(({ name }, position) => [name, cells[position] ?? '']));
}
