import type { RegisterName } from '../../schemas/registers.ts';
import type { PoolClient, Queryable } from '../runtime/postgres.ts';
import { DecisionError } from './decisions.ts';
import { findEdition } from './editions.ts';

/** A row of the table `correction`, with its column names: an operator's order to undo an edition, and the outcome. */
export interface Correction {
  id: number;
  register: RegisterName;
  corrects: number;
  requested_by: string;
  reason: string | null;
  requested_at: Date;
  state: 'pedida' | 'comparada' | 'publicando' | 'publicada' | 'rechazada';
  state_reason: string | null;
  state_at: Date;
  compare_result: Record<string, unknown> | null;
  edition: number | null;
}

/**
 * Records an operator's order to undo an edition. The order becomes the register's next edition when no other edition
 * is in progress.
 * @throws DecisionError `edition_unknown`; `already_corrected`; `not_correctable` for an edition that wrote every row
 */
export async function requestCorrection(
  client: PoolClient,
  register: RegisterName,
  number: number,
  order: { by: string; reason: string | null },
): Promise<Correction> {
  const edition = await findEdition(client, register, number);
  if (edition === null) throw new DecisionError('edition_unknown', `${register} has no edition ${number}`);
  if (Number(edition.counts.baseline ?? 0) > 0) {
    const why = 'it wrote rows that nothing stood before, so there is nothing to go back to';
    throw new DecisionError('not_correctable', `edition ${number} of ${register} cannot be undone: ${why}`);
  }
  // When two operators order this at once, the second INSERT waits for the commit of the first and then does nothing.
  const { rows } = await client.query<Correction>(
    `INSERT INTO correction (register, corrects, requested_by, reason) VALUES ($1, $2, $3, $4)
     ON CONFLICT (register, corrects) WHERE state <> 'rechazada' DO NOTHING RETURNING *`,
    [register, number, order.by, order.reason],
  );
  if (rows[0] !== undefined) return rows[0];
  throw new DecisionError('already_corrected', `edition ${number} of ${register} is undone already, or about to be`);
}

export async function findCorrection(database: Queryable, id: number): Promise<Correction | null> {
  const { rows } = await database.query<Correction>('SELECT * FROM correction WHERE id = $1', [id]);
  return rows[0] ?? null;
}

/** Returns the order to undo this edition: the one that is not refused, else the last refused one, else null. */
export async function correctionOf(
  database: Queryable,
  register: RegisterName,
  number: number,
): Promise<Correction | null> {
  const { rows } = await database.query<Correction>(
    `SELECT * FROM correction WHERE register = $1 AND corrects = $2 ORDER BY (state = 'rechazada'), id DESC LIMIT 1`,
    [register, number],
  );
  return rows[0] ?? null;
}

/** Id of the oldest order that is still to become an edition. */
export async function nextCorrection(database: Queryable, register: RegisterName): Promise<number | null> {
  const { rows } = await database.query<{ id: number }>(
    `SELECT id FROM correction WHERE register = $1 AND state IN ('pedida', 'comparada') ORDER BY id LIMIT 1`,
    [register],
  );
  return rows[0]?.id ?? null;
}

export async function recordCorrectionComparison(
  database: Queryable,
  id: number,
  result: Record<string, unknown>,
): Promise<void> {
  await database.query(
    `UPDATE correction SET compare_result = $2, state = 'comparada', state_reason = NULL, state_at = now()
     WHERE id = $1 AND state IN ('pedida', 'comparada')`,
    [id, JSON.stringify(result)],
  );
}

/** Ends an order that cannot be carried out. The operator may give it again. */
export async function refuseCorrection(database: Queryable, id: number, reason: string): Promise<void> {
  await database.query(
    `UPDATE correction SET state = 'rechazada', state_reason = $2, state_at = now()
     WHERE id = $1 AND state IN ('pedida', 'comparada')`,
    [id, reason],
  );
}

/**
 * Whether an operator has undone the edition that was made from the bytes `sha256`. False again in two cases:
 * - A later correction has undone the correction.
 * - A later edition was made from the same bytes.
 */
export async function isReverted(database: Queryable, register: RegisterName, sha256: string): Promise<boolean> {
  const { rows } = await database.query<{ found: boolean }>(
    `SELECT EXISTS (
       SELECT 1 FROM edition undone
       JOIN publication ON publication.id = undone.publication_id
       JOIN edition undoing ON undoing.register = undone.register AND undoing.corrects = undone.number
       WHERE undone.register = $1 AND publication.sha256 = $2
         AND NOT EXISTS (SELECT 1 FROM edition redone
           WHERE redone.register = undone.register AND redone.corrects = undoing.number)
         AND NOT EXISTS (SELECT 1 FROM edition later JOIN publication again ON again.id = later.publication_id
           WHERE later.register = undone.register AND later.number > undoing.number AND again.sha256 = $2)
     ) AS found`,
    [register, sha256],
  );
  return rows[0]!.found;
}
