import type { RegisterName } from '../../schemas/registers.ts';
import type { Queryable } from '../runtime/postgres.ts';
import type { Publication } from './publications.ts';

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
