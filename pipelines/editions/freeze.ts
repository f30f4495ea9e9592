import { inTransaction, type Pool, type PoolClient } from '../../deploy/runtime/postgres.ts';
import { registers } from '../../schemas/registers.ts';
import { readHead } from './heads.ts';
import { findPublication, type Publication } from './publications.ts';

/** What a comparison made: the base it compared with and the files it left in the archive. */
export interface FrozenDifference {
  baseEdition: number;
  /** Number written into every record of the change file: baseEdition + 1. */
  edition: number;
  detectedAt: Date;
  changeFileSha256: string;
  overlaySha256: string | null;
  changes: number;
  counts: Record<string, unknown>;
}

export type FreezeResult =
  | { outcome: 'frozen'; edition: number }
  | { outcome: 'head_moved'; edition: null }
  | { outcome: 'head_not_materialised'; edition: null }
  | { outcome: 'not_compared'; edition: null };

/**
 * `comparada → publicando`, the point of no return, in one transaction: the head is locked and must be the base that the
 * difference names, and be materialised; the edition gets its number and its change file for good; the head moves. From
 * here publishing reads nothing but that change file. A death before the commit leaves the publication `comparada`;
 * after it, a repeat finds the edition and returns it.
 */
export function freezeEdition(pool: Pool, id: number, difference: FrozenDifference): Promise<FreezeResult> {
  return inTransaction(pool, async (client) => {
    const found = await findPublication(client, id);
    if (found === null) return { outcome: 'not_compared', edition: null };
    const head = await readHead(client, found.register, true);
    // Read again under the lock: another attempt may have frozen it while this one waited.
    const publication = await findPublication(client, id);
    if (publication?.edition != null) return { outcome: 'frozen', edition: publication.edition };
    if (publication?.state !== 'comparada') return { outcome: 'not_compared', edition: null };
    if (head.edition !== difference.baseEdition) {
      await client.query(`UPDATE publication SET state = 'verificada', state_at = now() WHERE id = $1`, [id]);
      return { outcome: 'head_moved', edition: null };
    }
    if (!head.materialised) return { outcome: 'head_not_materialised', edition: null };
    if (difference.edition !== head.edition + 1) throw new Error('a change file must be numbered head + 1');
    await insertEdition(client, publication, difference);
    await moveHead(client, publication, difference.edition);
    return { outcome: 'frozen', edition: difference.edition };
  });
}

async function insertEdition(
  client: PoolClient,
  publication: Publication,
  difference: FrozenDifference,
): Promise<void> {
  const register = registers[publication.register];
  await client.query(
    `INSERT INTO edition (register, number, publication_id, fecha_dato, published_at, detected_at, change_file_sha256,
       overlay_sha256, parser_version, columns, changes, counts)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      register.name,
      difference.edition,
      publication.id,
      publication.fecha_dato,
      publication.published_at,
      difference.detectedAt,
      difference.changeFileSha256,
      difference.overlaySha256,
      register.parserVersion,
      register.columns.map((column) => column.name),
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
