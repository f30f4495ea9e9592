import type { RegisterName } from '../../schemas/registers.ts';
import type { Archive } from '../archive/archive.ts';
import { inTransaction, type Pool, type PoolClient } from '../runtime/postgres.ts';
import { openStates } from './publications.ts';

/** Publications removed in one transaction: the register's lock is held meanwhile. */
const maxRemovals = 50;

/**
 * Removes raw publications that were downloaded more than `days` ago from the archive, and notes it. Kept are the bytes
 * that the register's head stands on (verification and a re-baseline read them) and those of a publication that is not
 * decided yet. Resolves with how many objects went; call it again until that is 0.
 */
export function removeOldPublications(
  pool: Pool,
  archive: Pick<Archive, 'remove'>,
  register: RegisterName,
  days: number,
): Promise<number> {
  return inTransaction(pool, async (client) => {
    // A fetch makes its row under this lock before it archives anything, so no bytes can come back while they go.
    await client.query('SELECT 1 FROM register_head WHERE register = $1 FOR UPDATE', [register]);
    const hashes = await removable(client, register, days);
    for (const sha256 of hashes) await archive.remove({ register, kind: 'publications', sha256 });
    // Dying before the commit: bytes are gone that the catalogue still names; the repeat removes nothing and notes it.
    await client.query('UPDATE publication SET removed_at = now() WHERE register = $1 AND sha256 = ANY ($2)', [
      register,
      hashes,
    ]);
    return hashes.length;
  });
}

/** Several publications may be of the same bytes: those go when none of them is needed. */
async function removable(client: PoolClient, register: RegisterName, days: number): Promise<string[]> {
  const { rows } = await client.query<{ sha256: string }>(
    `SELECT p.sha256 FROM publication p JOIN register_head head USING (register)
     WHERE p.register = $1 AND p.sha256 IS NOT NULL AND p.sha256 IS DISTINCT FROM head.publication_sha256
       AND NOT EXISTS (SELECT 1 FROM publication open WHERE open.register = $1 AND open.state = ANY ($3))
     GROUP BY p.sha256
     HAVING bool_and(p.state <> 'en_cuarentena') AND bool_or(p.removed_at IS NULL)
       AND max(p.downloaded_at) < now() - make_interval(days => $2)
     ORDER BY max(p.downloaded_at) LIMIT $4`,
    [register, days, openStates, maxRemovals],
  );
  return rows.map(({ sha256 }) => sha256);
}
