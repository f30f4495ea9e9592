import { type ChangeBlock, openChangeFile, recordsOf } from '../../pipelines/changes/change-file.ts';
import { avroType, type Change } from '../../pipelines/changes/record.ts';
import { baseline } from '../../pipelines/changes/record-bytes.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { eventsOf, makesEvents } from '../../pipelines/watch/match.ts';
import { type Register, type RegisterName, registers } from '../../schemas/registers.ts';

/** Numbers of events that an edition would make, counted before the edition exists. */
export interface EventCounts {
  /**
   * Events over all watch lists. The edition may make more. When a RUC appears again, `watch` also makes an event for
   * each field that differs from the RUC's last known row. This count does not read last known rows.
   */
  notices: number;
  /** Members of all watch lists. A company counts once for each list that it is on. */
  listMembers: number;
}

/**
 * Counts the events that a change file would make on the present watch lists. Returns null for a register that makes no
 * events. Only one block of the file (256 KB, some thousand records) is in memory at a time. One query per block finds
 * its watched companies, and only their records are decoded.
 * @throws CompareError `change_file_damaged`
 */
export async function countEvents(
  pool: Pool,
  name: RegisterName,
  changeFile: string,
  signal: AbortSignal,
): Promise<EventCounts | null> {
  const register = registers[name];
  if (!makesEvents(register)) return null;
  const counts = { notices: 0, listMembers: await countMembers(pool) };
  if (counts.listMembers === 0) return counts;
  const file = await openChangeFile(changeFile);
  try {
    for await (const block of file.blocks()) {
      signal.throwIfAborted();
      counts.notices += await eventsOfBlock(pool, register, block);
    }
  } finally {
    await file.close();
  }
  return counts;
}

async function eventsOfBlock(pool: Pool, register: Register, block: ChangeBlock): Promise<number> {
  const changed = new Map<string, { start: number; end: number }>();
  for (const record of recordsOf(block)) {
    // Records of rows that did not change (`r`) make no events, and natural persons are never watched.
    if (record.op === baseline || !record.isOfCompany()) continue;
    changed.set(record.key(), { start: record.start, end: record.at });
  }
  if (changed.size === 0) return 0;
  let notices = 0;
  for (const { ruc, lists } of await watchedAmong(pool, [...changed.keys()])) {
    const { start, end } = changed.get(ruc)!;
    const record = avroType(register.name).fromBuffer(block.bytes.subarray(start, end)) as Change;
    notices += eventsOf(register, record, null).length * lists;
  }
  return notices;
}

async function countMembers(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ members: number }>({
    name: 'list-members',
    text: `SELECT count(*) AS members FROM watch_member m JOIN watch_list l ON l.id = m.list_id
      WHERE l.deleted_at IS NULL`,
  });
  return rows[0]!.members;
}

/** Returns those of the given companies that are watched, each with the number of lists that contain it. */
async function watchedAmong(pool: Pool, rucs: readonly string[]): Promise<{ ruc: string; lists: number }[]> {
  const { rows } = await pool.query<{ ruc: string; lists: number }>({
    name: 'lists-of-companies',
    text: `SELECT m.ruc, count(*) AS lists FROM watch_member m JOIN watch_list l ON l.id = m.list_id
      WHERE m.ruc = ANY ($1) AND l.deleted_at IS NULL GROUP BY m.ruc`,
    values: [rucs],
  });
  return rows;
}
