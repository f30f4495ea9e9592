import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Pool } from '../../pipelines/runtime/postgres.ts';

/**
 * A token is `pad_live_<id>_<secret>`: the id finds the row, the secret is 24 random bytes of which only the SHA-256 is
 * stored. A plain hash is enough for a secret of 192 random bits: there is nothing to guess from a dictionary.
 */
const tokenForm = /^pad_live_([0-9a-f]{16})_([0-9a-f]{48})$/;

export function readToken(text: string): { id: string; secret: string } | null {
  const parts = tokenForm.exec(text);
  return parts === null ? null : { id: parts[1]!, secret: parts[2]! };
}

/** Compared in constant time. */
export function secretMatches(secret: string, storedSha256: Buffer): boolean {
  return timingSafeEqual(sha256(secret), storedSha256);
}

/** The token's text exists only in the answer of this call. Dying before it is shown leaves an unused row. */
export async function createToken(pool: Pool, accountId: number): Promise<{ id: string; token: string } | null> {
  const id = randomBytes(8).toString('hex');
  const secret = randomBytes(24).toString('hex');
  const { rowCount } = await pool.query(
    'INSERT INTO token (id, account_id, secret_sha256) SELECT $1, id, $3 FROM account WHERE id = $2',
    [id, accountId, sha256(secret)],
  );
  return rowCount === 0 ? null : { id, token: `pad_live_${id}_${secret}` };
}

export interface TokenSummary {
  id: string;
  account: number;
  created_at: Date;
  revoked_at: Date | null;
}

/** Newest first; of one account or of all. */
export async function listTokens(pool: Pool, accountId: number | null, limit: number): Promise<TokenSummary[]> {
  const { rows } = await pool.query<TokenSummary>(
    `SELECT id, account_id AS account, created_at, revoked_at FROM token
     WHERE $1::bigint IS NULL OR account_id = $1 ORDER BY created_at DESC, id LIMIT $2`,
    [accountId, limit],
  );
  return rows;
}

/** Repeatable: the first revocation's time stays. null: no such token. Every API process knows within 5 seconds. */
export async function revokeToken(pool: Pool, id: string): Promise<Date | null> {
  const { rows } = await pool.query<{ revoked_at: Date }>(
    'UPDATE token SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 RETURNING revoked_at',
    [id],
  );
  return rows[0]?.revoked_at ?? null;
}

function sha256(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
