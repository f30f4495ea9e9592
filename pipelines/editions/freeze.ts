import type { RegisterName } from '../../schemas/registers.ts';
import { inTransaction, type Pool, type PoolClient } from '../runtime/postgres.ts';
import { findCorrection } from './corrections.ts';
import { type Head, moveHead, readHead } from './heads.ts';
import { findPublication } from './publications.ts';

/** The result of a comparison: the base that it compared with, and the files that it left in the archive. */
export interface FrozenDifference {
  baseEdition: number;
  /** Edition number in every record of the change file. It is baseEdition + 1. */
  edition: number;
  detectedAt: Date;
  changeFileSha256: string;
  overlaySha256: string | null;
  /** Parser version and columns of the change file. The release that freezes the edition may have others. */
  parserVersion: number;
  columns: readonly string[];
  changes: number;
  counts: Record<string, unknown>;
}

export type FreezeResult =
  | { outcome: 'frozen'; edition: number }
  /** `paused`: an operator paused the register after the comparison. */
  | { outcome: 'head_moved' | 'head_not_materialised' | 'not_compared' | 'paused'; edition: null };

/**
 * Makes an edition of a compared publication or correction. This is the point of no return, in one transaction:
 * - It locks the head, which must be materialised and be the base of the difference.
 * - It inserts the edition with its final number and its change file, and moves the head to the edition.
 * - It moves the publication or correction from `comparada` to `publicando`.
 * If the process dies before the commit, nothing has changed. If it dies after, a repeat returns the edition. A pause
 * does not stop a correction, because operators often pause a register in order to undo an edition.
 * @param checkedHead the head that was found to be the newest edition of Kafka and ClickHouse too (`compareCatalogue`).
 * If the database was restored since then, it has another head, and nothing is frozen.
 */
export function freezeEdition(
  pool: Pool,
  register: RegisterName,
  kind: 'publication' | 'correction',
  id: number,
  differenceOf: (compared: { compare_result: unknown }) => FrozenDifference,
  checkedHead: number,
): Promise<FreezeResult> {
  return inTransaction(pool, async (client) => {
    const head = await readHead(client, register, true);
    // The publication or correction is read after the lock is taken, because another attempt may have frozen it
    // meanwhile.
    const origin = await originOf(client, kind, id, head);
    if (origin?.edition != null) return { outcome: 'frozen', edition: origin.edition };
    if (head.edition !== checkedHead) return { outcome: 'head_moved', edition: null };
    if (origin?.state !== 'comparada') return { outcome: 'not_compared', edition: null };
    if (kind === 'publication' && head.paused_at !== null) return { outcome: 'paused', edition: null };
    const difference = differenceOf(origin);
    if (head.edition !== difference.baseEdition) {
      const state = kind === 'publication' ? 'verificada' : 'pedida';
      await client.query(`UPDATE ${kind} SET state = $2, state_at = now() WHERE id = $1`, [id, state]);
      return { outcome: 'head_moved', edition: null };
    }
    if (!head.materialised) return { outcome: 'head_not_materialised', edition: null };
    await insertEdition(client, head, origin, difference);
    await client.query(`UPDATE ${kind} SET state = 'publicando', state_reason = NULL, state_at = now() WHERE id = $1`, [
      id,
    ]);
    if (kind === 'correction') {
      await client.query('UPDATE correction SET edition = $2 WHERE id = $1', [id, difference.edition]);
    }
    return { outcome: 'frozen', edition: difference.edition };
  });
}

async function originOf(client: PoolClient, kind: 'publication' | 'correction', id: number, head: Head) {
  if (kind === 'publication') {
    const publication = await findPublication(client, id);
    return publication && { ...publication, publication_id: id, corrects: null };
  }
  // A correction has no publication, so it takes the dates of the head before it. With `sha256` null, `moveHead` leaves
  // the publication as it is in the register's head.
  const correction = await findCorrection(client, id);
  const { fecha_dato, published_at } = head;
  return (
    correction && { ...correction, publication_id: null, fecha_dato, published_at, sha256: null, validators: null }
  );
}

/** Inserts the edition and moves the head to it. */
async function insertEdition(
  client: PoolClient,
  head: Head,
  origin: NonNullable<Awaited<ReturnType<typeof originOf>>>,
  difference: FrozenDifference,
): Promise<void> {
  if (difference.edition !== head.edition + 1) throw new Error('a change file must be numbered head + 1');
  await client.query(
    `INSERT INTO edition (register, number, publication_id, corrects, fecha_dato, published_at, detected_at,
       change_file_sha256, overlay_sha256, parser_version, columns, changes, counts)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      head.register,
      difference.edition,
      origin.publication_id,
      origin.corrects,
      origin.fecha_dato,
      origin.published_at,
      difference.detectedAt,
      difference.changeFileSha256,
      difference.overlaySha256,
      difference.parserVersion,
      difference.columns,
      difference.changes,
      JSON.stringify(difference.counts),
    ],
  );
  await moveHead(client, { ...origin, register: head.register, edition: difference.edition });
}
