import type { Pool } from '../runtime/postgres.ts';
import type { NoticeKind } from './notices.ts';

export interface StoredNotice {
  id: number;
  webhookId: string;
  kind: NoticeKind;
  detail: Record<string, unknown>;
  at: Date;
}

/** An account's notices, newest first, those before `before`; null: from the newest. */
export async function pageNotices(
  pool: Pool,
  accountId: number,
  before: number | null,
  limit: number,
): Promise<StoredNotice[]> {
  const { rows } = await pool.query<StoredNotice>(
    `SELECT id, webhook_id AS "webhookId", kind, detail, at FROM notice
     WHERE account_id = $1 AND ($2::bigint IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
    [accountId, before, limit],
  );
  return rows;
}
