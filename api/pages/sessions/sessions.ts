import { randomBytes } from 'node:crypto';
import type { Pool, Queryable } from '../../../pipelines/runtime/postgres.ts';
import { type Capability, capabilities } from '../../../schemas/http/account.ts';
import { type AccountState, accountStateColumns, type Caller, callerOfState } from '../../accounts/callers.ts';
import { sha256 } from '../../accounts/tokens.ts';

/** A session that nobody uses for this long has ended. */
export const idleMinutes = 30;
/** The longest a session lasts, however much it is used. */
export const longestHours = 12;
/** What shows a secret or deletes takes a sign-in, or the token again, within this time before it. */
export const confirmedMinutes = 5;

/** A session of the console, which is in force. */
export interface ConsoleSession {
  id: string;
  /** Who would ask with the session's token. */
  caller: Caller;
  capabilities: readonly Capability[];
  /** Whether the person signed in, or gave the token again, in the last minutes. */
  isConfirmed: boolean;
}

/** Stands for the token of a session that began with a link of an operator, for example in the audit. */
const linkOfOperator = 'enlace';

/** Longest texts that are stored, in characters. */
export const maxNameLength = 60;
const maxBrowserLength = 200;

/** SQL condition for a session `s` and its token `t`, if it has one: used lately, not too old, the token not revoked. */
export const inForce = `s.last_used_at > now() - interval '${idleMinutes} minutes' AND s.ends_at > now() AND t.revoked_at IS NULL`;

/**
 * Starts a session for a caller whose token was just checked, and returns the value of its cookie. Every sign-in makes a
 * new value, so one that somebody planted in the browser never becomes a session. If the process dies before the answer
 * arrives, nobody knows the value, and the row ends by itself.
 */
export async function startSession(
  database: Queryable,
  { accountId, tokenId, capabilities: allowed }: NewSession,
  { name, browser }: { name: string | null; browser: string },
): Promise<string> {
  const secret = randomBytes(32).toString('base64url');
  await database.query(
    `INSERT INTO console_session (secret_sha256, account_id, token_id, capabilities, name, browser, ends_at)
     VALUES ($1, $2, $3, $4, $5, nullif($6, ''), now() + interval '${longestHours} hours')`,
    [sha256(secret), accountId, tokenId, allowed ?? null, name, browser.slice(0, maxBrowserLength)],
  );
  return secret;
}

interface NewSession {
  accountId: number;
  /** Null for a link that an operator made. */
  tokenId: string | null;
  /** All of them if omitted. */
  capabilities?: readonly Capability[];
}

/**
 * Returns the session with this value of the cookie, or null when it has ended. PostgreSQL is asked each time, so a
 * revoked token and an ended session count at once, and a plan too.
 */
export async function findSession(pool: Pool, secret: string): Promise<ConsoleSession | null> {
  const { rows } = await pool.query<AccountState & SessionRow>({
    name: 'console-session',
    text: `SELECT s.id, s.token_id, s.capabilities, s.last_used_at < now() - interval '1 minute' AS is_used_again,
             s.confirmed_at > now() - interval '${confirmedMinutes} minutes' AS is_confirmed, ${accountStateColumns}
           FROM console_session s JOIN account a ON a.id = s.account_id JOIN plan p ON p.name = a.plan
             LEFT JOIN token t ON t.id = s.token_id
           WHERE s.secret_sha256 = $1 AND ${inForce}`,
    values: [sha256(secret)],
  });
  const row = rows[0];
  if (row === undefined) return null;
  // At most a write a minute. If the process dies before it, the session ends up to a minute earlier than it could.
  if (row.is_used_again) await pool.query('UPDATE console_session SET last_used_at = now() WHERE id = $1', [row.id]);
  return {
    id: row.id,
    caller: { ...callerOfState(row.token_id ?? linkOfOperator, row), sessionId: row.id },
    capabilities: row.capabilities ?? capabilities,
    isConfirmed: row.is_confirmed,
  };
}

interface SessionRow {
  id: string;
  token_id: string | null;
  capabilities: Capability[] | null;
  is_used_again: boolean;
  is_confirmed: boolean;
}

/** Notes that the person of this session has just shown a token of the account. The call may be repeated. */
export async function confirmSession(pool: Pool, id: string): Promise<void> {
  await pool.query('UPDATE console_session SET confirmed_at = now() WHERE id = $1', [id]);
}

export interface SessionSummary {
  id: string;
  /** Null for a link that an operator made. */
  tokenId: string | null;
  /** Null means all. */
  capabilities: Capability[] | null;
  name: string | null;
  browser: string | null;
  startedAt: Date;
  lastUsedAt: Date;
}

/** Returns the account's sessions in force, the one used last first. */
export async function listSessions(pool: Pool, accountId: number, limit = 100): Promise<SessionSummary[]> {
  const { rows } = await pool.query<SessionSummary>(
    `SELECT s.id, s.token_id AS "tokenId", s.capabilities, s.name, s.browser, s.started_at AS "startedAt", s.last_used_at AS "lastUsedAt"
     FROM console_session s LEFT JOIN token t ON t.id = s.token_id
     WHERE s.account_id = $1 AND ${inForce} ORDER BY s.last_used_at DESC, s.id LIMIT $2`,
    [accountId, limit],
  );
  return rows;
}

/** Ends a session of this account. Returns false when the account has none with this id. The call may be repeated. */
export async function endSession(pool: Pool, accountId: number, id: string): Promise<boolean> {
  const { rowCount } = await pool.query('DELETE FROM console_session WHERE id = $1 AND account_id = $2', [
    id,
    accountId,
  ]);
  return (rowCount ?? 0) > 0;
}

/** Ends the session with this value of the cookie, if there is one. */
export async function endSessionOf(pool: Pool, secret: string): Promise<void> {
  await pool.query('DELETE FROM console_session WHERE secret_sha256 = $1', [sha256(secret)]);
}
