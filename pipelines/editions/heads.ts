import { type RegisterName, registers } from '../../schemas/registers.ts';
import type { PoolClient, Queryable } from '../runtime/postgres.ts';
import type { Publication } from './publications.ts';

/** A register's newest edition, the base of every comparison. `edition` is 0 when the register has no edition yet. */
export interface Head {
  register: RegisterName;
  edition: number;
  /** Date of the data, YYYY-MM-DD; null before the first edition. */
  fecha_dato: string | null;
  published_at: Date | null;
  publication_sha256: string | null;
  partitions: number;
  /** When the official site last answered. */
  probed_at: Date | null;
  /** Set while an operator holds new editions back. */
  paused_at: Date | null;
  paused_by: string | null;
  paused_reason: string | null;
  /**
   * Hash of the head's change file. The index and row store of pipelines/diff have it in their file names. Null for
   * edition 0.
   */
  change_file_sha256: string | null;
  /** When the head's changes were found (`detected_at` of its records); null for edition 0. */
  detected_at: Date | null;
  materialised: boolean;
}

export async function ensureHead(database: Queryable, register: RegisterName): Promise<void> {
  await database.query(
    'INSERT INTO register_head (register, partitions) VALUES ($1, $2) ON CONFLICT (register) DO NOTHING',
    [register, registers[register].defaultPartitions],
  );
}

export async function readHead(database: Queryable, register: RegisterName, lock = false): Promise<Head> {
  // A statement of its own takes the lock, so the next statement also reads what was committed during the wait.
  if (lock) await database.query('SELECT 1 FROM register_head WHERE register = $1 FOR UPDATE', [register]);
  const { rows } = await database.query<Head>(
    `SELECT head.register, head.edition, head.fecha_dato, head.published_at, head.publication_sha256, head.partitions,
       head.probed_at, head.paused_at, head.paused_by, head.paused_reason, edition.change_file_sha256, edition.detected_at,
       (head.edition = 0 OR edition.materializada_at IS NOT NULL) AS materialised
     FROM register_head head
     LEFT JOIN edition ON edition.register = head.register AND edition.number = head.edition
     WHERE head.register = $1`,
    [register],
  );
  const head = rows[0];
  if (head === undefined) throw new Error(`register ${register} has no head: run the migrations`);
  return head;
}

/**
 * Holds new editions of a register back. Downloads continue, and an edition in progress is finished. Returns false when
 * the register is paused already. The time and reason of the first pause then stay.
 */
export async function pauseRegister(
  database: Queryable,
  register: RegisterName,
  order: { by: string; reason: string | null },
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE register_head SET paused_at = now(), paused_by = $2, paused_reason = $3
     WHERE register = $1 AND paused_at IS NULL`,
    [register, order.by, order.reason],
  );
  return rowCount === 1;
}

export async function resumeRegister(database: Queryable, register: RegisterName): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE register_head SET paused_at = NULL, paused_by = NULL, paused_reason = NULL
     WHERE register = $1 AND paused_at IS NOT NULL`,
    [register],
  );
  return rowCount === 1;
}

export async function recordProbe(database: Queryable, register: RegisterName): Promise<void> {
  await database.query('UPDATE register_head SET probed_at = now() WHERE register = $1', [register]);
}

/** The head after a new edition. If `sha256` and `validators` are null (a correction), the head keeps the old ones. */
interface NextHead {
  register: RegisterName;
  edition: number;
  fecha_dato: string | null;
  published_at: Date | string | null;
  sha256: string | null;
  validators: unknown;
}

/** Moves the head to a new edition. Call it in the transaction that inserts the edition. */
export async function moveHead(client: PoolClient, next: NextHead): Promise<void> {
  const { register, edition, fecha_dato, published_at, sha256, validators } = next;
  await client.query(
    `UPDATE register_head SET edition = $2, fecha_dato = $3, published_at = $4,
       publication_sha256 = coalesce($5, publication_sha256),
       publication_validators = coalesce($6, publication_validators) WHERE register = $1`,
    [register, edition, fecha_dato, published_at, sha256, validators && JSON.stringify(validators)],
  );
}

/**
 * Moves the register's date forward without an edition, because the site published the head's bytes again. Call it in
 * the transaction that puts the publication into the state `repetida`, in which no edition is made of it. In a separate
 * transaction, the date could move although the publication still becomes an edition.
 */
export async function moveDateForward(client: PoolClient, publication: Publication): Promise<void> {
  await client.query(
    `UPDATE register_head SET fecha_dato = $2, published_at = $3, publication_validators = $4
     WHERE register = $1 AND publication_sha256 = $5 AND (published_at IS NULL OR published_at < $3)`,
    [
      publication.register,
      publication.fecha_dato,
      publication.published_at,
      JSON.stringify(publication.validators),
      publication.sha256,
    ],
  );
}
