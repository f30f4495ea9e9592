import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Pool, Queryable } from '../../pipelines/runtime/postgres.ts';

/**
 * A token is `pad_live_<id>_<secret>`. The id finds the token's row, which has only the SHA-256 of the secret. A plain
 * SHA-256 is enough, because nobody can guess the secret's 192 random bits.
 */
const tokenForm = /^pad_live_([0-9a-f]{16})_([0-9a-f]{48})$/;

export function readToken(text: string): { id: string; secret: string } | null {
  const match = tokenForm.exec(text);
  return match === null ? null : { id: match[1]!, secret: match[2]! };
}

/** Compares in constant time, so that nobody can learn the stored hash from response times. */
export function secretMatches(secret: string, storedSha256: Buffer): boolean {
  return timingSafeEqual(sha256(secret), storedSha256);
}

/**
 * Makes a token and returns its text, which is stored nowhere. Each call makes another token. If the process dies
 * before it shows the text, nobody can use the token, and the token's row stays.
 * @param name how people recognise the token in lists, or null
 * @returns null when the account does not exist
 */
export async function createToken(
  database: Queryable,
  accountId: number,
  name: string | null = null,
): Promise<{ id: string; token: string } | null> {
  const id = randomBytes(8).toString('hex');
  const secret = randomBytes(24).toString('hex');
  const { rowCount } = await database.query(
    'INSERT INTO token (id, account_id, secret_sha256, name) SELECT $1, id, $3, $4 FROM account WHERE id = $2',
    [id, accountId, sha256(secret), name],
  );
  return rowCount === 0 ? null : { id, token: `pad_live_${id}_${secret}` };
}

export interface TokenSummary {
  id: string;
  account: number;
  name: string | null;
  created_at: Date;
  /** At most ten minutes before the last use. Null: not used since this is noted. */
  last_used_at: Date | null;
  revoked_at: Date | null;
}

/** Returns tokens, the newest first. @param accountId null for the tokens of all accounts */
export async function listTokens(pool: Pool, accountId: number | null, limit: number): Promise<TokenSummary[]> {
  const { rows } = await pool.query<TokenSummary>(
    `SELECT id, account_id AS account, name, created_at, last_used_at, revoked_at FROM token
     WHERE $1::bigint IS NULL OR account_id = $1 ORDER BY created_at DESC, id LIMIT $2`,
    [accountId, limit],
  );
  return rows;
}

/**
 * Revokes a token. Every API process refuses the token within 5 seconds. The call may be repeated.
 * @returns the time of the first revocation, or null when the token does not exist
 */
export async function revokeToken(database: Queryable, id: string): Promise<Date | null> {
  const { rows } = await database.query<{ revoked_at: Date }>(
    'UPDATE token SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 RETURNING revoked_at',
    [id],
  );
  return rows[0]?.revoked_at ?? null;
}

/** As `revokeToken`, but only for a token of this account. Returns null when the account has none with this id. */
export async function revokeTokenOf(pool: Pool, accountId: number, id: string): Promise<Date | null> {
  const { rows } = await pool.query<{ revoked_at: Date }>(
    `UPDATE token SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 AND account_id = $2 RETURNING revoked_at`,
    [id, accountId],
  );
  return rows[0]?.revoked_at ?? null;
}

/** Minutes for which the use of a token is not noted again. */
const notedMinutes = 10;

/** SQL condition for a token `t` whose use should be noted. */
export const mustBeNoted = `(t.last_used_at IS NULL OR t.last_used_at < now() - interval '${notedMinutes} minutes')`;

/** Notes that a token was used. If the process dies before, the next use notes it. Processes may do so at once. */
export async function noteUse(pool: Pool, id: string): Promise<void> {
  await pool.query({
    name: 'token-used',
    text: `UPDATE token t SET last_used_at = now() WHERE id = $1 AND ${mustBeNoted}`,
    values: [id],
  });
}

/** The form in which secrets of tokens, links and sessions are stored. */
export function sha256(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
