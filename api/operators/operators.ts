import { randomBytes } from 'node:crypto';
import { inTransaction, type Pool } from '../../pipelines/runtime/postgres.ts';
import { sha256 } from '../accounts/tokens.ts';
import { type Actor, recordAct } from './audit.ts';

// Operators are people with a name and a role. They sign in to their console with a one-time link, which somebody with
// access to the command line makes. Nothing is mailed.

export const operatorRoles = ['viewer', 'decider'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

export interface Operator {
  id: number;
  name: string;
  role: OperatorRole;
  created_at: Date;
  revoked_at: Date | null;
}

const columns = 'id, name, role, created_at, revoked_at';

/** Returns all operators by name, also those whose access ended. */
export async function listOperators(pool: Pool): Promise<Operator[]> {
  const { rows } = await pool.query<Operator>(`SELECT ${columns} FROM operator ORDER BY name`);
  return rows;
}

export interface WantedLink {
  name: string;
  /** Null keeps the role of a known operator. A new operator is then a viewer. */
  role: OperatorRole | null;
  minutes: number;
}

export interface MadeLink {
  operator: Operator;
  /** The last part of the link's address. It is stored nowhere, so it can be shown only now. */
  secret: string;
  expiresAt: Date;
}

/**
 * Makes a link that opens one session, and the operator if the name is new. Somebody whose access was ended has it
 * again. If the process dies before it shows the link, nobody can use the link, and it expires.
 */
export function makeLink(pool: Pool, actor: Actor, { name, role, minutes }: WantedLink): Promise<MadeLink> {
  return inTransaction(pool, async (client) => {
    const known = await client.query<Operator>(`SELECT ${columns} FROM operator WHERE name = $1 FOR UPDATE`, [name]);
    const before = known.rows[0] ?? null;
    const { rows } = await client.query<Operator>(
      `INSERT INTO operator AS known (name, role) VALUES ($1, coalesce($2, 'viewer'))
       ON CONFLICT (name) DO UPDATE SET role = coalesce($2, known.role), revoked_at = NULL RETURNING ${columns}`,
      [name, role],
    );
    const operator = rows[0]!;
    const secret = randomBytes(32).toString('base64url');
    const link = await client.query<{ expires_at: Date }>(
      `INSERT INTO operator_link (secret_sha256, operator_id, expires_at)
       VALUES ($1, $2, now() + make_interval(mins => $3)) RETURNING expires_at`,
      [sha256(secret), operator.id, minutes],
    );
    const expiresAt = link.rows[0]!.expires_at;
    await recordAct(client, actor, {
      act: 'operators link',
      subject: `operator ${name}`,
      reason: null,
      before: before && accessOf(before),
      after: { ...accessOf(operator), link_expires_at: expiresAt },
    });
    return { operator, secret, expiresAt };
  });
}

function accessOf({ role, revoked_at }: Operator) {
  return { role, revoked_at };
}

/** Ends an operator's access: no session and no link works from now on. Returns false when nobody has this name. */
export function revokeOperator(pool: Pool, actor: Actor, name: string, reason: string | null): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const known = await client.query<Operator>(`SELECT ${columns} FROM operator WHERE name = $1 FOR UPDATE`, [name]);
    const before = known.rows[0];
    if (before === undefined) return false;
    if (before.revoked_at !== null) return true;
    const { rows } = await client.query<Operator>(
      `UPDATE operator SET revoked_at = now() WHERE id = $1 RETURNING ${columns}`,
      [before.id],
    );
    await client.query('DELETE FROM operator_session WHERE operator_id = $1', [before.id]);
    await client.query('DELETE FROM operator_link WHERE operator_id = $1', [before.id]);
    await recordAct(client, actor, {
      act: 'operators revoke',
      subject: `operator ${name}`,
      reason,
      before: accessOf(before),
      after: accessOf(rows[0]!),
    });
    return true;
  });
}
