import type { Client } from '@temporalio/client';
import type { Pool, PoolClient } from '../runtime/postgres.ts';

/** The delivery workflow by its names: pipelines do not import workflows. */
export const deliveryWorkflow = {
  type: 'deliver',
  taskQueue: 'delivery',
  signal: 'wake',
  idOf: (webhookId: string) => `delivery/${webhookId}`,
} as const;

/** Starts each webhook's workflow, or wakes the running one. Rejects when Temporal did not take one of them. */
export type Wake = (webhookIds: readonly string[]) => Promise<void>;

/**
 * Wakes at most `inParallel` at a time. Losing a wake-up loses nothing: what is due stands in PostgreSQL, and the sweeper
 * of the worker wakes what is overdue.
 */
export function makeWake(client: Client, options: { inParallel: number; deadlineMs: number }): Wake {
  return async (webhookIds) => {
    const waiting = [...webhookIds];
    const failures: unknown[] = [];
    const runOne = async () => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        await wakeOne(client, id, options.deadlineMs).catch((error: unknown) => failures.push(error));
      }
    };
    await Promise.all(Array.from({ length: Math.min(options.inParallel, webhookIds.length) }, runOne));
    if (failures.length > 0) throw failures[0];
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

/** Channel on which raiseWork notifies the worker that holds a webhook of more work; the payload is the webhook's id. */
export const workChannel = 'delivery_work';

/**
 * Says that webhooks have something to do, of this day or later ones, in the transaction that adds it. Gives those that
 * nobody works on now: only these need a signal. Whoever holds a lease gets a hint at the commit, compares wake_seq before
 * it ends, and sees this raise even if the hint is lost.
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
 * Keeps claims of these webhooks out until the transaction ends. Taken after the webhooks' rows and before their deliveries: a
 * claim locks several deliveries in an order of its own, and whoever changes many of them meanwhile would wait for it while it
 * waits for them.
 */
export async function lockWork(client: PoolClient, webhookIds: readonly string[]): Promise<void> {
  await client.query('SELECT 1 FROM webhook_work WHERE webhook_id = ANY($1) ORDER BY webhook_id FOR UPDATE', [
    webhookIds,
  ]);
}

/**
 * Ends a round: nobody works on the webhook from here on, and the next thing is due at `seen.nextDueAt` (null: nothing).
 * False: work was added since `seen` was read, the lease stays, and the caller must look again. Dying before this
 * line leaves the lease to run out and an old next_due_at, which the sweeper finds.
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
 * Webhooks with something overdue that nobody works on: their wake-up was lost (a process died between its commit and its
 * signal), or their worker died, or their workflow. Endpoints, never deliveries, so this stays small. Paused ones too, for
 * their tests: a round of theirs that finds none leaves nothing overdue.
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
