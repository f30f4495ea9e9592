import type { RegisterName } from '../../schemas/registers.ts';
import { inTransaction, type Pool, type PoolClient } from '../runtime/postgres.ts';
import { findCorrection } from './corrections.ts';
import { type Head, readHead } from './heads.ts';
import { findPublication, type Publication } from './publications.ts';

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

type FreezeResult =
  | { outcome: 'frozen'; edition: number }
  /** `paused`: an operator paused the register after the comparison. */
  | { outcome: 'head_moved' | 'head_not_materialised' | 'not_compared' | 'paused'; edition: null };

/**
 * Moves a publication from `comparada` to `publicando`, the point of no return, in one transaction. It locks the head,
 * which must be materialised and be the base of the difference. It inserts the edition with its final number and change
 * file, and moves the head to it. From then on, publishing reads only that change file. If the process dies before the
 * commit, the publication stays `comparada`. If it dies after the commit, a repeat finds the edition and returns it.
 */
export function freezeEdition(pool: Pool, id: number, difference: FrozenDifference): Promise<FreezeResult> {
  return inTransaction(pool, async (client) => {
    const found = await findPublication(client, id);
    if (found === null) return { outcome: 'not_compared', edition: null };
    const head = await readHead(client, found.register, true);
    // The publication is read again under the lock, because another attempt may have frozen it while this one waited.
    const publication = await findPublication(client, id);
    if (publication?.edition != null) return { outcome: 'frozen', edition: publication.edition };
    if (publication?.state !== 'comparada') return { outcome: 'not_compared', edition: null };
    if (head.paused_at !== null) return { outcome: 'paused', edition: null };
    if (head.edition !== difference.baseEdition) {
      await client.query(`UPDATE publication SET state = 'verificada', state_at = now() WHERE id = $1`, [id]);
      return { outcome: 'head_moved', edition: null };
    }
    if (!head.materialised) return { outcome: 'head_not_materialised', edition: null };
    await insertEdition(client, head, publication, difference);
    await moveHead(client, publication, difference.edition);
    return { outcome: 'frozen', edition: difference.edition };
  });
}

/**
 * Does the same as `freezeEdition` for an operator's correction. A correction has no publication, so it takes the
 * head's dates, and the head keeps its publication. A pause does not stop a correction, because registers are often
 * paused in order to undo an edition.
 */
export function freezeCorrection(pool: Pool, id: number, difference: FrozenDifference): Promise<FreezeResult> {
  return inTransaction(pool, async (client) => {
    const found = await findCorrection(client, id);
    if (found === null) return { outcome: 'not_compared', edition: null };
    const head = await readHead(client, found.register, true);
    const correction = await findCorrection(client, id);
    if (correction?.edition != null) return { outcome: 'frozen', edition: correction.edition };
    if (correction?.state !== 'comparada') return { outcome: 'not_compared', edition: null };
    if (head.edition !== difference.baseEdition) {
      await client.query(`UPDATE correction SET state = 'pedida', state_at = now() WHERE id = $1`, [id]);
      return { outcome: 'head_moved', edition: null };
    }
    if (!head.materialised) return { outcome: 'head_not_materialised', edition: null };
    const { fecha_dato, published_at } = head;
    if (fecha_dato === null || published_at === null) throw new Error('a head that can be corrected has dates');
    const { register, corrects } = correction;
    await insertEdition(client, head, { id: null, register, corrects, fecha_dato, published_at }, difference);
    await client.query('UPDATE register_head SET edition = $2 WHERE register = $1', [register, difference.edition]);
    await client.query(
      `UPDATE correction SET state = 'publicando', state_reason = NULL, state_at = now(), edition = $2 WHERE id = $1`,
      [id, difference.edition],
    );
    return { outcome: 'frozen', edition: difference.edition };
  });
}

/** What an edition is made from: a publication, or the edition that a correction undoes. */
interface Origin {
  /** The publication's id; null for a correction. */
  id: number | null;
  register: RegisterName;
  corrects?: number;
  fecha_dato: string | null;
  published_at: Date | null;
}

async function insertEdition(
  client: PoolClient,
  head: Head,
  origin: Origin,
  difference: FrozenDifference,
): Promise<void> {
  if (difference.edition !== head.edition + 1) throw new Error('a change file must be numbered head + 1');
  await client.query(
    `INSERT INTO edition (register, number, publication_id, corrects, fecha_dato, published_at, detected_at,
       change_file_sha256, overlay_sha256, parser_version, columns, changes, counts)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      origin.register,
      difference.edition,
      origin.id,
      origin.corrects ?? null,
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
}

async function moveHead(client: PoolClient, publication: Publication, edition: number): Promise<void> {
  await client.query(
    `UPDATE register_head SET edition = $2, fecha_dato = $3, published_at = $4, publication_sha256 = $5,
       publication_validators = $6 WHERE register = $1`,
    [
      publication.register,
      edition,
      publication.fecha_dato,
      publication.published_at,
      publication.sha256,
      JSON.stringify(publication.validators),
    ],
  );
  await client.query(
    `UPDATE publication SET state = 'publicando', state_reason = NULL, state_at = now() WHERE id = $1`,
    [publication.id],
  );
}
