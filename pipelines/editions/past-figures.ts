import type { RegisterName } from '../../schemas/registers.ts';
import type { Queryable } from '../runtime/postgres.ts';
import type { Publication } from './publications.ts';

// Figures of past editions and publications, for charts.

/** Figures of one edition, for a chart over the days. */
export interface EditionDay {
  number: number;
  fecha_dato: string;
  changes: number;
  /** Whether the edition wrote every row. Its changes say nothing about its day. */
  isFull: boolean;
  /** Lines of the publication that are no row. Null for a correction. */
  rejected: number | null;
  /** Time from the first sight of the publication, or the order of a correction, until look-ups showed the edition. */
  servedAfterSeconds: number | null;
}

/** Returns figures of the register's last editions, the oldest first. */
export async function editionDays(
  database: Queryable,
  register: RegisterName,
  maxEditions: number,
): Promise<EditionDay[]> {
  const { rows } = await database.query<EditionDay>(
    `SELECT e.number, e.fecha_dato, e.changes, COALESCE((e.counts->>'baseline')::bigint, 0) > 0 AS "isFull", p.rejected,
       extract(epoch FROM e.materializada_at - COALESCE(p.detected_at, e.detected_at))::double precision
         AS "servedAfterSeconds"
     FROM edition e LEFT JOIN publication p ON p.id = e.publication_id
     WHERE e.register = $1 ORDER BY e.number DESC LIMIT $2`,
    [register, maxEditions],
  );
  return rows.reverse();
}

type GateRecord = Publication['gates'][number];

/** What a gate found in one publication, and what it allowed then. */
export interface PastGate extends Pick<Publication, 'id' | 'fecha_dato' | 'state' | 'detected_at'> {
  value: GateRecord['value'];
  limit: GateRecord['limit'];
  passed: boolean;
}

/**
 * Returns what each gate found in the register's last publications, the oldest first, by the gate's name.
 * @param until the newest publication that counts
 */
export async function gateHistory(
  database: Queryable,
  register: RegisterName,
  until: number,
  maxPublications: number,
): Promise<Map<string, PastGate[]>> {
  const { rows } = await database.query<Pick<Publication, 'id' | 'fecha_dato' | 'state' | 'detected_at' | 'gates'>>(
    `SELECT id, fecha_dato, state, detected_at, gates FROM publication
     WHERE register = $1 AND id <= $2 AND gates <> '[]' ORDER BY id DESC LIMIT $3`,
    [register, until, maxPublications],
  );
  const history = new Map<string, PastGate[]>();
  for (const { gates, ...publication } of rows.reverse()) {
    for (const { gate, value, limit, passed } of gates) {
      history.set(gate, [...(history.get(gate) ?? []), { ...publication, value, limit, passed }]);
    }
  }
  return history;
}
