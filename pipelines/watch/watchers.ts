import { limaDay } from '../../schemas/lima-time.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { Pool } from '../runtime/postgres.ts';
import type { ListSnapshot } from './payload.ts';

/** An edition as the watch needs it. */
export interface WatchedEdition {
  number: number;
  fechaDato: string;
  detectedAt: Date;
  /** Everybody was told: a record of it that comes again (a replay, a new group) makes no notice. */
  announced: boolean;
  /** The edition that this one undoes and the day in Lima when that was detected; null: it undoes none. */
  corrects: { edition: number; day: string } | null;
}

interface EditionRow {
  number: number;
  fecha_dato: string;
  detected_at: Date;
  announced: boolean;
  corrects: number | null;
  wrong_detected_at: Date | null;
}

export async function readEditions(
  pool: Pool,
  register: RegisterName,
  numbers: readonly number[],
): Promise<Map<number, WatchedEdition>> {
  const { rows } = await pool.query<EditionRow>(
    `SELECT e.number, e.fecha_dato, e.detected_at, e.avisada_at IS NOT NULL AS announced, e.corrects,
       wrong.detected_at AS wrong_detected_at
     FROM edition e LEFT JOIN edition wrong ON wrong.register = e.register AND wrong.number = e.corrects
     WHERE e.register = $1 AND e.number = ANY($2)`,
    [register, numbers],
  );
  return new Map(
    rows.map(({ number, fecha_dato, detected_at, announced, corrects, wrong_detected_at }) => [
      number,
      {
        number,
        fechaDato: fecha_dato,
        detectedAt: detected_at,
        announced,
        // The order to correct refers to the edition's row, so it is there.
        corrects: corrects === null ? null : { edition: corrects, day: limaDay(wrong_detected_at!) },
      },
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
