import type { Register, RegisterName } from '../../schemas/registers.ts';
import type { Row } from '../changes/record.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import type { Pool } from '../runtime/postgres.ts';
import type { ListSnapshot } from './lists.ts';

export interface WatchedEdition {
  number: number;
  fechaDato: string;
  detectedAt: Date;
  /**
   * True once all events of the edition are written. From then on, records of the edition that are read again make no
   * events.
   */
  announced: boolean;
  /**
   * Null unless the edition is a correction. `edition` is the number of the wrong edition. `day` is the Lima day on
   * which the wrong edition was detected.
   */
  corrects: { edition: number; day: string } | null;
}

export async function readEditions(
  pool: Pool,
  register: RegisterName,
  numbers: readonly number[],
): Promise<Map<number, WatchedEdition>> {
  const { rows } = await pool.query<WatchedEdition>(
    `SELECT e.number, e.fecha_dato AS "fechaDato", e.detected_at AS "detectedAt", e.avisada_at IS NOT NULL AS announced,
       CASE WHEN e.corrects IS NOT NULL THEN json_build_object(
         'edition', wrong.number, 'day', (wrong.detected_at AT TIME ZONE 'America/Lima')::date) END AS corrects
     FROM edition e LEFT JOIN edition wrong ON wrong.register = e.register AND wrong.number = e.corrects
     WHERE e.register = $1 AND e.number = ANY($2)`,
    [register, numbers],
  );
  return new Map(rows.map((edition) => [edition.number, edition]));
}

export interface Watcher {
  accountId: number;
  list: ListSnapshot;
}

/**
 * Returns for each RUC the lists that hold it now and already held it at `detectedAt`, when the edition was detected.
 * The lists are in order of their ids. Deleted lists are left out.
 */
export async function readWatchers(
  pool: Pool,
  rucs: readonly string[],
  detectedAt: Date,
): Promise<Map<string, Watcher[]>> {
  const { rows } = await pool.query<{ ruc: string; accountId: number } & ListSnapshot>(
    `SELECT m.ruc, l.account_id AS "accountId", l.id, l.nombre, l.referencia
     FROM watch_member m JOIN watch_list l ON l.id = m.list_id
     WHERE m.ruc = ANY($1) AND m.added_at <= $2 AND l.created_at <= $2 AND l.deleted_at IS NULL ORDER BY l.id`,
    [rucs, detectedAt],
  );
  const watchers = new Map<string, Watcher[]>();
  for (const { ruc, accountId, ...list } of rows) {
    watchers.set(ruc, [...(watchers.get(ruc) ?? []), { accountId, list }]);
  }
  return watchers;
}

/** The row that each RUC had when it last disappeared before the edition. RUCs that never disappeared have no entry. */
export type LastKnownRows = (
  register: Register,
  rucs: readonly string[],
  beforeEdition: number,
) => Promise<ReadonlyMap<string, Row>>;

/**
 * Returns a function that reads last known rows in the change history in ClickHouse. The answer for an edition never
 * changes, because the producer starts an edition only after ClickHouse has all earlier editions. So a batch that is
 * read again makes equal events.
 */
export function makeLastKnownRows(clickhouse: ClickHouseClient): LastKnownRows {
  return async (register, rucs, beforeEdition) => {
    if (rucs.length === 0) return new Map();
    const result = await clickhouse.query({
      // The query needs no FINAL, because repeated rows of one change are equal.
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
