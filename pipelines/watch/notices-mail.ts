import type { Pool } from '../runtime/postgres.ts';
import type { Notice } from './notices.ts';

export interface NoticeToMail {
  id: number;
  /** The account's address. */
  email: string;
  webhookId: string;
  notice: Notice;
  at: Date;
  /** Number of this try, from 1. */
  attempt: number;
}

export interface MailLimits {
  /** Longer than a try may take: a lease that ends while its mail is on the way sends it twice. */
  leaseMs: number;
  /** Notices older than this are not mailed: a server that is set up today tells nobody of last month. */
  maxAgeMs: number;
}

/**
 * Takes the notice whose mail has been due longest, for the length of the lease; null: none is due. One at a time, so that
 * a slow server keeps no lease of a mail that is not on its way yet; several processes may do so at once. Dying after this
 * line repeats the mail, with the same Message-ID, when the lease ends.
 */
export async function claimNoticeMail(pool: Pool, limits: MailLimits): Promise<NoticeToMail | null> {
  const { rows } = await pool.query<NoticeRow>(
    `WITH due AS (
       SELECT n.id, a.email FROM notice n JOIN account a ON a.id = n.account_id
       WHERE n.mail_due_at <= now() AND n.at > now() - make_interval(secs => $1) AND a.email <> ''
       ORDER BY n.mail_due_at LIMIT 1 FOR UPDATE OF n SKIP LOCKED)
     UPDATE notice n SET mail_attempts = n.mail_attempts + 1, mail_due_at = now() + make_interval(secs => $2)
     FROM due WHERE n.id = due.id
     RETURNING n.id, due.email, n.webhook_id, n.kind, n.detail, n.at, n.mail_attempts`,
    [limits.maxAgeMs / 1_000, limits.leaseMs / 1_000],
  );
  const row = rows[0];
  if (row === undefined) return null;
  return {
    id: row.id,
    email: row.email,
    webhookId: row.webhook_id,
    notice: { kind: row.kind, detail: row.detail } as Notice,
    at: row.at,
    attempt: row.mail_attempts,
  };
}

interface NoticeRow {
  id: number;
  email: string;
  webhook_id: string;
  kind: Notice['kind'];
  detail: Notice['detail'];
  at: Date;
  mail_attempts: number;
}

export type MailOutcome = 'sent' | 'given_up' | { retryInMs: number };

/** Only the try that still holds the lease is recorded; of two that overlapped, the later one. */
export async function recordNoticeMail(
  pool: Pool,
  { id, attempt }: Pick<NoticeToMail, 'id' | 'attempt'>,
  outcome: MailOutcome,
): Promise<void> {
  const retryInMs = typeof outcome === 'object' ? outcome.retryInMs : null;
  await pool.query(
    `UPDATE notice SET mailed_at = CASE WHEN $3 THEN now() END,
       mail_due_at = now() + make_interval(secs => $4::double precision)
     WHERE id = $1 AND mail_attempts = $2 AND mailed_at IS NULL`,
    [id, attempt, outcome === 'sent', retryInMs === null ? null : retryInMs / 1_000],
  );
}
