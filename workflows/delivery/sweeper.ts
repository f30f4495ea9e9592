import { startRepeating } from '../../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { overdueWebhooks, type Wake } from '../../pipelines/webhooks/work.ts';
import type { DeliveryMetrics } from './metrics.ts';

export interface DeliverySweepParts {
  pool: Pool;
  wake: Wake;
  log: Logger;
  metrics: DeliveryMetrics;
  /** Overdue by this much: a wake-up that is still on its way is not lost. */
  graceSeconds: number;
  maxWebhooks: number;
}

/** Wakes webhooks whose wake-up, worker or workflow was lost. Several workers may do so at once: a wake-up is harmless. */
async function sweepDeliveries(parts: DeliverySweepParts): Promise<number> {
  const webhookIds = await overdueWebhooks(parts.pool, parts);
  if (webhookIds.length === 0) return 0;
  await parts.wake(webhookIds);
  parts.metrics.swept.inc(webhookIds.length);
  parts.log.warn({ webhooks: webhookIds.length }, 'overdue webhooks woken');
  return webhookIds.length;
}

/** Sweeps every `everyMs`; a failed sweep is logged and the next one tries again. Returns the stop. */
export function startDeliverySweeper(parts: DeliverySweepParts, everyMs: number): () => Promise<void> {
  return startRepeating('sweep of webhooks', everyMs, parts.log, () => sweepDeliveries(parts));
}
