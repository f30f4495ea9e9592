import type { Queryable } from '../../pipelines/runtime/postgres.ts';

/** Who acts: an operator in the console, or the person whom a command's option --by names. */
export interface Actor {
  name: string;
  way: 'console' | 'command';
}

/** What somebody did. `act` is the command that does the same, such as `publications approve`. */
export interface Act {
  act: string;
  /** What it was about, such as `publication 7`. It never has a natural person's RUC. */
  subject: string;
  reason: string | null;
  /** The values that the act changes, before and after it. Null: there was, or is, nothing. */
  before: Readonly<Record<string, unknown>> | null;
  after: Readonly<Record<string, unknown>> | null;
}

/**
 * Records an act. Call this in the transaction that carries it out, so that neither is committed without the other.
 */
export async function recordAct(client: Queryable, { name, way }: Actor, act: Act): Promise<void> {
  await client.query(
    `INSERT INTO operator_act (who, way, act, subject, reason, before, after) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [name, way, act.act, act.subject, act.reason?.trim() || null, jsonOf(act.before), jsonOf(act.after)],
  );
}

function jsonOf(values: Act['before']): string | null {
  return values === null ? null : JSON.stringify(values);
}

export interface RecordedAct extends Act {
  id: number;
  at: Date;
  who: string;
  way: Actor['way'];
}

interface ActFilter {
  /** Acts about this subject only; null for all. */
  subject: string | null;
  /** Acts with a smaller id only; null for the newest. */
  before: number | null;
}

/** Returns acts, the newest first. */
export async function listActs(
  database: Queryable,
  { subject, before }: ActFilter,
  maxRows: number,
): Promise<RecordedAct[]> {
  const { rows } = await database.query<RecordedAct>(
    `SELECT id, at, who, way, act, subject, reason, before, after FROM operator_act
     WHERE ($1::text IS NULL OR subject = $1) AND ($2::bigint IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
    [subject, before, maxRows],
  );
  return rows;
}
