import { inTransaction, type Pool } from '../../pipelines/runtime/postgres.ts';
import {
  cancelRecovery,
  createRecoveryIn,
  type NewRecovery,
  type Recovery,
} from '../../pipelines/webhooks/recoveries.ts';
import { accountOfDelivery, type Resent, resendDelivery } from '../../pipelines/webhooks/resend.ts';
import { type Actor, recordAct } from './audit.ts';

/**
 * Counts what a webhook did not get, and has it sent again unless it is only counted (`isSimulated`). The api's
 * processes send it in chunks. A count alone is no act, and is not recorded.
 * @returns null if the webhook already has as many running recoveries as it may
 */
export function recoverBy(pool: Pool, actor: Actor, webhookId: string, wanted: NewRecovery): Promise<Recovery | null> {
  return inTransaction(pool, async (client) => {
    const recovery = await createRecoveryIn(client, webhookId, wanted);
    if (recovery === null || wanted.isSimulated) return recovery;
    const { id, total, from, until, states } = recovery;
    await recordAct(client, actor, {
      ...{ act: 'deliveries recover', subject: webhookSubject(webhookId), reason: null },
      before: null,
      after: { recovery: id, total, from, until, states: states.join(', ') },
    });
    return recovery;
  });
}

/** Stops a recovery. Returns false if the webhook has no such recovery. */
export function cancelRecoveryBy(pool: Pool, actor: Actor, webhookId: string, id: string): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    if (!(await cancelRecovery(client, webhookId, id))) return false;
    await recordAct(client, actor, {
      ...{ act: 'deliveries cancel-recovery', subject: webhookSubject(webhookId), reason: null },
      ...{ before: { recovery: id }, after: { recovery: id, estado: 'cancelada' } },
    });
    return true;
  });
}

/**
 * Makes a delivery due now. The caller then wakes its webhook; if the process dies before that, the worker's sweeper
 * does. A repeat is recorded as another act.
 */
export async function resendBy(pool: Pool, actor: Actor, id: string): Promise<Resent> {
  const account = await accountOfDelivery(pool, id);
  if (account === null) return { ok: false, problem: 'not_found' };
  return await resendDelivery(pool, account, id, async (client, resent) => {
    if (!resent.ok) return;
    const { webhookId, estado } = resent;
    await recordAct(client, actor, {
      ...{ act: 'deliveries resend', subject: webhookSubject(webhookId), reason: null },
      ...{ before: null, after: { delivery: id, estado } },
    });
  });
}

/** The subject under which acts about a webhook are found. */
export function webhookSubject(id: string): string {
  return `webhook ${id}`;
}
