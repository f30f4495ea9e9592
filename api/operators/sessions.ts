import { randomBytes } from 'node:crypto';
import { inTransaction, type Pool, type PoolClient } from '../../pipelines/runtime/postgres.ts';
import { sha256 } from '../accounts/tokens.ts';
import { type Act, recordAct } from './audit.ts';
import type { Identity } from './identity-provider.ts';
import type { OperatorRole } from './operators.ts';

/** A session that nobody uses for this long has ended. */
export const idleMinutes = 30;
/** The longest a session lasts, however much it is used. */
export const longestHours = 12;
/** An act that shows a secret needs a session that is not older than this. */
export const freshMinutes = 15;

const maxBrowserLength = 200;

/** A session of the operators' console, which is in force. */
export interface OperatorSession {
  id: string;
  name: string;
  role: OperatorRole;
  startedAt: Date;
}

/** SQL condition for a session `s` of an operator `o`: used lately, not too old, and the operator has access. */
const inForce = `s.last_used_at > now() - interval '${idleMinutes} minutes' AND s.ends_at > now() AND o.revoked_at IS NULL`;

/** SQL condition for a link `l` of an operator `o` that can still be used. */
const isUsable = 'l.used_at IS NULL AND l.expires_at > now() AND o.revoked_at IS NULL';

/** Returns the operator's name for whom the link is, or null when it cannot be used. It stays usable. */
export async function readLink(pool: Pool, secret: string): Promise<{ name: string } | null> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT o.name FROM operator_link l JOIN operator o ON o.id = l.operator_id
     WHERE l.secret_sha256 = $1 AND ${isUsable}`,
    [sha256(secret)],
  );
  return rows[0] ?? null;
}

/**
 * Uses a link up and starts a session. Returns the value of the session's cookie, or null when the link cannot be used.
 * A second request with the same link waits for the first and then finds it used. If the process dies before the
 * answer arrives, the link is used, and a new one must be made.
 */
export function useLink(pool: Pool, secret: string, browser: string): Promise<string | null> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ id: number; name: string }>(
      `UPDATE operator_link l SET used_at = now() FROM operator o
       WHERE l.secret_sha256 = $1 AND o.id = l.operator_id AND ${isUsable} RETURNING o.id, o.name`,
      [sha256(secret)],
    );
    return rows[0] === undefined ? null : startOperatorSession(client, rows[0], browser);
  });
}

/**
 * Starts a session of somebody whom the identity provider knows, and makes the operator at the first time. The role is
 * the one that the provider's groups give now.
 * @returns the value of the session's cookie; `revoked` if somebody ended this person's access, which `padron operators
 *   link` gives back; `name_taken` if another operator has the name
 */
export function signInAs(
  pool: Pool,
  { subject, name, role }: Identity,
  browser: string,
): Promise<{ cookie: string } | 'revoked' | 'name_taken'> {
  return inTransaction(pool, async (client) => {
    const known = await client.query<{ id: number; name: string; role: OperatorRole; revoked_at: Date | null }>(
      'SELECT id, name, role, revoked_at FROM operator WHERE subject = $1 FOR UPDATE',
      [subject],
    );
    let operator = known.rows[0];
    if (operator === undefined) {
      // Names stand in the audit, so nobody takes over the name of somebody who came in by a link.
      const made = await client.query<NonNullable<typeof operator>>(
        `INSERT INTO operator (name, role, subject) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
         RETURNING id, name, role, revoked_at`,
        [name, role, subject],
      );
      operator = made.rows[0];
      if (operator === undefined) return 'name_taken';
    }
    if (operator.revoked_at !== null) return 'revoked';
    const before = known.rows[0] === undefined ? null : { role: operator.role };
    await client.query('UPDATE operator SET role = $2 WHERE id = $1', [operator.id, role]);
    return { cookie: await startOperatorSession(client, operator, browser, { before, after: { role } }) };
  });
}

/**
 * Starts a session of an operator who has proved who it is, in the caller's transaction, and returns the value of its
 * cookie. Every way to sign in ends here.
 */
async function startOperatorSession(
  client: PoolClient,
  { id, name }: { id: number; name: string },
  browser: string,
  access: Pick<Act, 'before' | 'after'> = { before: null, after: null },
): Promise<string> {
  const cookie = randomBytes(32).toString('base64url');
  const shown = browser.slice(0, maxBrowserLength);
  await client.query(
    `INSERT INTO operator_session (secret_sha256, operator_id, browser, ends_at)
     VALUES ($1, $2, nullif($3, ''), now() + interval '${longestHours} hours')`,
    [sha256(cookie), id, shown],
  );
  const after = { ...access.after, browser: shown };
  const act = { act: 'sign in', subject: `operator ${name}`, reason: null, before: access.before, after };
  await recordAct(client, { name, way: 'console' }, act);
  return cookie;
}

/**
 * Returns the session with this value of the cookie, or null when it has ended. PostgreSQL is asked each time, so an
 * ended access counts at once, and a changed role too.
 */
export async function findOperatorSession(pool: Pool, secret: string): Promise<OperatorSession | null> {
  const { rows } = await pool.query<OperatorSession & { isUsedAgain: boolean }>({
    name: 'operator-session',
    text: `SELECT s.id, o.name, o.role, s.started_at AS "startedAt",
             s.last_used_at < now() - interval '1 minute' AS "isUsedAgain"
           FROM operator_session s JOIN operator o ON o.id = s.operator_id
           WHERE s.secret_sha256 = $1 AND ${inForce}`,
    values: [sha256(secret)],
  });
  if (rows[0] === undefined) return null;
  const { isUsedAgain, ...session } = rows[0];
  // At most a write a minute. If the process dies before it, the session ends up to a minute earlier than it could.
  if (isUsedAgain) await pool.query('UPDATE operator_session SET last_used_at = now() WHERE id = $1', [session.id]);
  return session;
}

export interface OperatorSessionSummary extends Pick<OperatorSession, 'id' | 'name' | 'startedAt'> {
  browser: string | null;
  lastUsedAt: Date;
}

/** Returns the sessions of all operators that are in force, the one used last first. */
export async function listOperatorSessions(pool: Pool, limit = 100): Promise<OperatorSessionSummary[]> {
  const { rows } = await pool.query<OperatorSessionSummary>(
    `SELECT s.id, o.name, s.browser, s.started_at AS "startedAt", s.last_used_at AS "lastUsedAt"
     FROM operator_session s JOIN operator o ON o.id = s.operator_id
     WHERE ${inForce} ORDER BY s.last_used_at DESC, s.id LIMIT $1`,
    [limit],
  );
  return rows;
}

/** Ends the session with this value of the cookie, if there is one. */
export async function endOperatorSession(pool: Pool, secret: string): Promise<void> {
  await pool.query('DELETE FROM operator_session WHERE secret_sha256 = $1', [sha256(secret)]);
}
