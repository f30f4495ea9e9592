import { randomBytes } from 'node:crypto';
import { inTransaction, type Pool } from '../../../pipelines/runtime/postgres.ts';
import type { Capability } from '../../../schemas/http/account.ts';
import { sha256 } from '../../accounts/tokens.ts';
import { startSession } from './sessions.ts';

// Links that open a session of the console once. Whoever has the link may do what it says, without a token.

export interface NewLink {
  accountId: number;
  /** The token that makes the link. With it, the link and its session end. Null for an operator. */
  tokenId: string | null;
  capabilities: readonly Capability[];
  /** For whom the link is. */
  name: string | null;
  hours: number;
}

export interface MadeLink {
  id: string;
  capabilities: readonly Capability[];
  /** Path and query of the link. It has the secret, which is stored nowhere. */
  path: string;
  expiresAt: Date;
}

/** Where a link leads. The secret stands in the query, which request logs do not have. */
export const linkPath = '/consola/enlace';

/**
 * Makes a link. Each call makes another one. If the process dies before it shows the link, nobody can use it.
 * @returns null when the account does not exist
 */
export async function createLink(pool: Pool, link: NewLink): Promise<MadeLink | null> {
  const secret = randomBytes(32).toString('base64url');
  const allowed = [...new Set<Capability>(['ver', ...link.capabilities])];
  const { rows } = await pool.query<{ id: string; expires_at: Date }>(
    `INSERT INTO console_link (secret_sha256, account_id, token_id, capabilities, name, expires_at)
     SELECT $1, id, $3, $4, $5, now() + make_interval(hours => $6) FROM account WHERE id = $2 RETURNING id, expires_at`,
    [sha256(secret), link.accountId, link.tokenId, allowed, link.name, link.hours],
  );
  const row = rows[0];
  return row === undefined
    ? null
    : { id: row.id, capabilities: allowed, path: `${linkPath}?clave=${secret}`, expiresAt: row.expires_at };
}

export interface LinkSummary {
  id: string;
  tokenId: string | null;
  capabilities: Capability[];
  name: string | null;
  createdAt: Date;
  expiresAt: Date;
  usedAt: Date | null;
}

const columns = `l.id, l.token_id AS "tokenId", l.capabilities, l.name, l.created_at AS "createdAt",
  l.expires_at AS "expiresAt", l.used_at AS "usedAt"`;
/** SQL condition for a link `l` and its token `t`, if it has one, that can still be used. */
const usable = 'l.used_at IS NULL AND l.expires_at > now() AND t.revoked_at IS NULL';

/** Returns the account's links that can still be used, the newest first. */
export async function listLinks(pool: Pool, accountId: number, limit = 100): Promise<LinkSummary[]> {
  const { rows } = await pool.query<LinkSummary>(
    `SELECT ${columns} FROM console_link l LEFT JOIN token t ON t.id = l.token_id
     WHERE l.account_id = $1 AND ${usable} ORDER BY l.created_at DESC, l.id LIMIT $2`,
    [accountId, limit],
  );
  return rows;
}

/** Returns whose link this is, or null when it cannot be used (any more). Programs that follow links only read here. */
export async function readLink(pool: Pool, secret: string): Promise<(LinkSummary & { account: string }) | null> {
  const { rows } = await pool.query<LinkSummary & { account: string }>(
    `SELECT ${columns}, a.name AS account FROM console_link l JOIN account a ON a.id = l.account_id
       LEFT JOIN token t ON t.id = l.token_id
     WHERE l.secret_sha256 = $1 AND ${usable}`,
    [sha256(secret)],
  );
  return rows[0] ?? null;
}

/**
 * Uses the link up and starts its session in one transaction. Two that use it at once get one session: the second waits
 * for the row and then finds it used. If the process dies before the answer arrives, the link is used up and its session
 * has nobody, so another link is needed.
 * @returns the value of the session's cookie, or null when the link cannot be used
 */
export function redeemLink(pool: Pool, secret: string, browser: string): Promise<string | null> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{
      account_id: number;
      token_id: string | null;
      capabilities: Capability[];
      name: string | null;
    }>(
      `UPDATE console_link l SET used_at = now()
       WHERE l.secret_sha256 = $1 AND l.used_at IS NULL AND l.expires_at > now()
         AND NOT EXISTS (SELECT FROM token t WHERE t.id = l.token_id AND t.revoked_at IS NOT NULL)
       RETURNING l.account_id, l.token_id, l.capabilities, l.name`,
      [sha256(secret)],
    );
    const link = rows[0];
    if (link === undefined) return null;
    const { account_id: accountId, token_id: tokenId, capabilities, name } = link;
    return startSession(client, { accountId, tokenId, capabilities }, { name, browser });
  });
}

/** Ends a link that nobody has used. Returns false when the account has none with this id. */
export async function endLink(pool: Pool, accountId: number, id: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    'UPDATE console_link SET expires_at = least(expires_at, now()) WHERE id = $1 AND account_id = $2 AND used_at IS NULL',
    [id, accountId],
  );
  return rowCount === 1;
}
