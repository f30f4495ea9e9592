import type { Pool, PoolClient } from '../../deploy/runtime/postgres.ts';
import type { RegisterName } from '../../schemas/registers.ts';

/**
 * The site still has the bytes `sha256` and now says that they are the data of `fechaDato`: where they are the head's, the
 * register's date moves forward. No edition is made, and the time of publication stays that of the bytes. True if it moved.
 */
export async function confirmDate(
  database: Pick<Pool | PoolClient, 'query'>,
  register: RegisterName,
  sha256: string,
  fechaDato: string,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE register_head SET fecha_dato = $3
     WHERE register = $1 AND publication_sha256 = $2 AND fecha_dato < $3`,
    [register, sha256, fechaDato],
  );
  return rowCount === 1;
}
