import type { RegisterName } from '../../schemas/registers.ts';
import type { Pool, PoolClient } from '../runtime/postgres.ts';
import { isReverted } from './corrections.ts';

/**
 * The site still has the bytes `sha256` and now says that they are the data of `fechaDato`: where they are the head's, the
 * register's date moves forward, and with it the publication's, which look-ups read. No edition is made, and the time of
 * publication stays that of the bytes. Bytes that an operator has undone confirm nothing. True if it moved.
 */
export async function confirmDate(
  database: Pick<Pool | PoolClient, 'query'>,
  register: RegisterName,
  sha256: string,
  fechaDato: string,
): Promise<boolean> {
  if (await isReverted(database, register, sha256)) return false;
  const { rowCount } = await database.query(
    `WITH moved AS (
       UPDATE register_head SET fecha_dato = $3
       WHERE register = $1 AND publication_sha256 = $2 AND fecha_dato < $3
       RETURNING published_at)
     , dated AS (
       UPDATE publication SET fecha_dato = $3 FROM moved
       WHERE publication.register = $1 AND publication.sha256 = $2 AND publication.published_at = moved.published_at)
     SELECT 1 FROM moved`,
    [register, sha256, fechaDato],
  );
  return rowCount === 1;
}
