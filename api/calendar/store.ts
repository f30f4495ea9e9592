import { inTransaction, type Pool, type PoolClient } from '../../pipelines/runtime/postgres.ts';
import type { Decree, PublishedTable } from './types.ts';

/** What an operator adds between releases, already judged by the parsers of `operator-files.ts`. */
export type NewAddition = { kind: 'decree'; value: Decree } | { kind: 'table'; value: PublishedTable };
export type Addition = NewAddition & { id: number; addedBy: string; reason: string | null; addedAt: Date };

/** Far more than decrees and tables of a century: more rows are a fault, and no process may grow by them. */
const maxAdditions = 10_000;

interface AdditionRow {
  id: number;
  kind: NewAddition['kind'];
  document: NewAddition['value'];
  added_by: string;
  reason: string | null;
  added_at: Date;
}

/**
 * Repeatable: what stands already as the newest of its decree or year is not written again (`isNew` false). A later file
 * of the same decree replaces it; a later table of the same year wins over it, and both are kept.
 */
export async function addToCalendar(
  pool: Pool,
  addition: NewAddition,
  { by, reason }: { by: string; reason: string | null },
): Promise<{ id: number; isNew: boolean; addedAt: Date }> {
  const key = addition.kind === 'decree' ? addition.value.decree : String(addition.value.year);
  const document = JSON.stringify(addition.value);
  return inTransaction(pool, async (client) => {
    // One addition at a time: two at once would both be the newest, and both new.
    await client.query('LOCK TABLE calendar_addition IN SHARE ROW EXCLUSIVE MODE');
    const same = await newestIfSame(client, addition.kind, key, document);
    if (same !== null) return { id: same.id, isNew: false, addedAt: same.added_at };
    const { rows } = await client.query<{ id: number; added_at: Date }>({
      name: 'calendar-add',
      text: `INSERT INTO calendar_addition (kind, key, document, added_by, reason)
             VALUES ($1, $2, $3, $4, $5) RETURNING id, added_at`,
      values: [addition.kind, key, document, by, reason],
    });
    return { id: rows[0]!.id, isNew: true, addedAt: rows[0]!.added_at };
  });
}

async function newestIfSame(client: PoolClient, kind: string, key: string, document: string) {
  const { rows } = await client.query<{ id: number; added_at: Date; is_same: boolean }>({
    name: 'calendar-newest',
    text: `SELECT id, added_at, document = $3::jsonb AS is_same FROM calendar_addition
           WHERE kind = $1 AND key = $2 ORDER BY id DESC LIMIT 1`,
    values: [kind, key, document],
  });
  const newest = rows[0];
  return newest?.is_same ? newest : null;
}

/** All of them, in the order in which they were added. */
export async function readAdditions(pool: Pool): Promise<Addition[]> {
  const { rows } = await pool.query<AdditionRow>({
    name: 'calendar-additions',
    text: 'SELECT id, kind, document, added_by, reason, added_at FROM calendar_addition ORDER BY id LIMIT $1',
    values: [maxAdditions],
  });
  return rows.map(
    ({ id, kind, document, added_by, reason, added_at }) =>
      ({ id, kind, value: document, addedBy: added_by, reason, addedAt: added_at }) as Addition,
  );
}
