import type { Client } from '@temporalio/client';
import type { Pool, PoolClient } from '../runtime/postgres.ts';

/** Names of the delivery workflow. They are in this file because pipelines do not import workflows. */
export const deliveryWorkflow = {
  type: 'deliver',
  taskQueue: 'delivery',
  signal: 'wake',
  idOf: (webhookId: string) => `delivery/${webhookId}`,
} as const;

/** Starts each webhook's workflow, or signals it if it already runs. Rejects if Temporal did not accept all calls. */
export type Wake = (webhookIds: readonly string[]) => Promise<void>;

/**
 * Makes a `Wake` that sends at most `inParallel` wake-ups at a time, over all its calls. While a webhook waits for its
 * turn, further calls for it add nothing: the one wake-up comes after the deliveries of all these calls were committed.
 * A start of a workflow takes some 10 ms of CPU time, so the first batches of an edition would otherwise wake the same
 * webhooks again and again. A lost wake-up loses no delivery, because deliveries are in PostgreSQL, and the worker's
 * sweeper wakes overdue webhooks.
 */
export function makeWake(client: Client, options: { inParallel: number; deadlineMs: number }): Wake {
  const waiting = new Map<string, { start: () => void; done: Promise<void> }>();
  let running = 0;
  const startNext = () => {
    for (const [webhookId, { start, done }] of waiting) {
      if (running >= options.inParallel) return;
      // A call that comes from now on must queue the webhook again, since a round may begin before its commit.
      waiting.delete(webhookId);
      running += 1;
      const next = () => {
        running -= 1;
        startNext();
      };
      done.then(next, next);
      start();
    }
  };
  const ask = (webhookId: string) => {
    const known = waiting.get(webhookId);
    if (known !== undefined) return known.done;
    let start = () => {};
    const turn = new Promise<void>((resolve) => {
      start = resolve;
    });
    const done = turn.then(() => wakeOne(client, webhookId, options.deadlineMs));
    waiting.set(webhookId, { start, done });
    return done;
  };
  return async (webhookIds) => {
    const asked = webhookIds.map(ask);
    startNext();
    const failed = (await Promise.allSettled(asked)).find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  };
}

async function wakeOne(client: Client, webhookId: string, deadlineMs: number): Promise<void> {
  await client.withDeadline(Date.now() + deadlineMs, () =>
    client.workflow.signalWithStart(deliveryWorkflow.type, {
      workflowId: deliveryWorkflow.idOf(webhookId),
      taskQueue: deliveryWorkflow.taskQueue,
      args: [{ webhookId }],
      signal: deliveryWorkflow.signal,
      signalArgs: [],
      workflowTaskTimeout: '10 seconds',
    }),
  );
}

/**
 * PostgreSQL channel on which `raiseWork` notifies the worker that works on a webhook. The payload is the webhook's id.
 */
export const workChannel = 'delivery_work';

/**
 * Records in the caller's transaction that webhooks have deliveries to send. Returns the webhooks that the caller must
 * wake, because no worker has leased them. Workers with a lease are notified at the commit. A worker that misses the
 * notification sees the raised wake_seq when it ends its round (`releaseWork`).
 * @param day the day of the earliest of these deliveries
 */
export async function raiseWork(client: PoolClient, webhookIds: readonly string[], day: string): Promise<string[]> {
  if (webhookIds.length === 0) return [];
  const { rows } = await client.query<{ webhook_id: string; idle: boolean }>(
    `INSERT INTO webhook_work AS w (webhook_id, wake_seq, next_due_at, open_since)
     SELECT id, 1, now(), $2 FROM unnest($1::text[]) AS id ORDER BY id
     ON CONFLICT (webhook_id) DO UPDATE SET wake_seq = w.wake_seq + 1, next_due_at = LEAST(w.next_due_at, now()),
       open_since = LEAST(w.open_since, EXCLUDED.open_since)
     RETURNING webhook_id, (lease_until IS NULL OR lease_until <= now()) AS idle`,
    [[...webhookIds].sort(), day],
  );
  const busy = rows.filter((row) => !row.idle).map((row) => row.webhook_id);
  if (busy.length > 0)
    await client.query('SELECT pg_notify($1, id) FROM unnest($2::text[]) AS id', [workChannel, busy]);
  return rows.filter((row) => row.idle).map((row) => row.webhook_id);
}

/**
 * Prevents claims of these webhooks until the transaction ends. Take this lock after the webhooks' rows and before
 * their deliveries. A claim locks deliveries in an order of its own. Without this lock, the two transactions could
 * deadlock.
 */
export async function lockWork(client: PoolClient, webhookIds: readonly string[]): Promise<void> {
  await client.query('SELECT 1 FROM webhook_work WHERE webhook_id = ANY($1) ORDER BY webhook_id FOR UPDATE', [
    webhookIds,
  ]);
}

/**
 * Ends a round of attempts: gives the webhook's lease back and stores `seen.nextDueAt`, when its next delivery is due
 * (null if none waits). Returns false if work was added after `seen` was read. The lease then stays, and the caller
 * must claim again. If the process dies before this call, the lease ends by itself. The worker's sweeper then finds the
 * webhook by its old next_due_at.
 */
export async function releaseWork(
  pool: Pool,
  webhookId: string,
  seen: { wakeSeq: number; nextDueAt: Date | null; openSince: string | null },
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `UPDATE webhook_work SET lease_until = NULL, next_due_at = $3, open_since = (
       SELECT min(d.day) FROM delivery d
       WHERE d.webhook_id = $1 AND d.estado IN ('pendiente', 'en_curso') AND d.day >= $4)
     WHERE webhook_id = $1 AND wake_seq = $2`,
    [webhookId, seen.wakeSeq, seen.nextDueAt, seen.openSince],
  );
  return rowCount === 1;
}

/**
 * Returns webhooks with overdue work that nobody works on, because their wake-up, their worker or their workflow was
 * lost. The query is cheap: it reads one row per webhook and no deliveries. Paused webhooks are included, because they
 * may have tests to send. After a round without a test, a paused webhook is no longer overdue (`releaseWork`).
 */
export async function overdueWebhooks(
  pool: Pool,
  options: { graceSeconds: number; maxWebhooks: number },
): Promise<string[]> {
  const { rows } = await pool.query<{ webhook_id: string }>(
    `SELECT w.webhook_id FROM webhook_work w JOIN webhook h ON h.id = w.webhook_id
     WHERE w.next_due_at < now() - make_interval(secs => $1) AND (w.lease_until IS NULL OR w.lease_until <= now())
       AND h.deleted_at IS NULL
     ORDER BY w.next_due_at LIMIT $2`,
    [options.graceSeconds, options.maxWebhooks],
  );
  return rows.map((row) => row.webhook_id);
}
