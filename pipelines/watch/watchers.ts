import type { Pool } from '../../deploy/runtime/postgres.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { ListSnapshot } from './payload.ts';

/** An edition as the watch needs it. */
export interface WatchedEdition {
  number: number;
  fechaDato: string;
  detectedAt: Date;
  /** Everybody was told: a record of it that comes again (a replay, a new group) makes no notice. */
  announced: boolean;
}

export async function readEditions(
  pool: Pool,
  register: RegisterName,
  numbers: readonly number[],
): Promise<Map<number, WatchedEdition>> {
  const { rows } = await pool.query<{ number: number; fecha_dato: string; detected_at: Date; announced: boolean }>(
    `SELECT number, fecha_dato, detected_at, avisada_at IS NOT NULL AS announced FROM edition
     WHERE register = $1 AND number = ANY($2)`,
    [register, numbers],
  );
  return new Map(
    rows.map((row) => [
      row.number,
      { number: row.number, fechaDato: row.fecha_dato, detectedAt: row.detected_at, announced: row.announced },
    ]),
  );
}

export interface Watcher {
  accountId: number;
  list: ListSnapshot;
}

/** Who watched which of these companies when the edition was detected, by RUC, lists in order of their ids. */
export async function readWatchers(
  pool: Pool,
  rucs: readonly string[],
  detectedAt: Date,
): Promise<Map<string, Watcher[]>> {
  const { rows } = await pool.query<{
    ruc: string;
    id: number;
    account_id: number;
    nombre: string;
    referencia: string | null;
  }>(
    `SELECT m.ruc, l.id, l.account_id, l.nombre, l.referencia FROM watch_member m JOIN watch_list l ON l.id = m.list_id
     WHERE m.ruc = ANY($1) AND m.added_at <= $2 AND l.created_at <= $2 AND l.deleted_at IS NULL ORDER BY l.id`,
    [rucs, detectedAt],
  );
  const watchers = new Map<string, Watcher[]>();
  for (const { ruc, id, account_id, nombre, referencia } of rows) {
    const watcher = { accountId: account_id, list: { id, nombre, referencia } };
    watchers.set(ruc, [...(watchers.get(ruc) ?? []), watcher]);
  }
  return watchers;
}
