import { claimDeliveries } from '../../../pipelines/webhooks/claim.ts';
import { recordResults } from '../../../pipelines/webhooks/results.ts';
import { deliveriesAnswer, deliveryAnswer } from '../../../schemas/http/deliveries.ts';
import { createdWebhookAnswer, webhookAnswer } from '../../../schemas/http/webhooks.ts';
import { insertList, writeChanges } from '../watch/events.ts';
import { makeCaller } from './process.ts';
import type { Surroundings } from './surroundings.ts';

export const webhooks = '/id/v1/watch/webhooks';
export const entregas = '/id/v1/watch/entregas';
/** A literal public address needs no name server. Nothing is sent to it. */
export const publicUrl = 'https://93.184.216.34/avisos';
/** When the scenes' changes were detected. */
export const at = new Date('2026-11-26T12:00:00Z');
export const ruc = '20990000019';
export const claimLimits = { deliveryLeaseMs: 60_000, workLeaseMs: 60_000 };

let editions = 0;
/** Every suite numbers its editions in order. */
export function nextEdition(): number {
  editions += 1;
  return editions;
}

/** A caller with a list and a webhook, and the requests that suites make about them. */
export async function makeScene(around: Surroundings, body: Record<string, unknown> = {}) {
  const by = await makeCaller(around.pool, around.api.url);
  const list = await insertList(around.pool, by);
  const made = await by.request(webhooks, { method: 'POST', json: { url: publicUrl, ...body } });
  const { id, secreto } = createdWebhookAnswer.parse(await made.json()).data;
  await around.pool.query("UPDATE webhook SET created_at = '2026-01-01' WHERE id = $1", [id]);
  const path = `${webhooks}/${id}`;
  return {
    by,
    id,
    path,
    secreto,
    list,
    /** Publishes an edition that changes the RUCs, and returns its number. */
    announce: async (...rucs: string[]) => {
      const edition = nextEdition();
      await writeChanges(around.pool, by, { list, edition, rucs, detectedAt: at });
      return edition;
    },
    post: (target: string, json?: unknown) =>
      by.request(target, { method: 'POST', ...(json === undefined ? {} : { json }) }),
    read: async () => webhookAnswer.parse(await (await by.request(path)).json()).data,
    deliveries: async (query = '') =>
      deliveriesAnswer.parse(await (await by.request(`${path}/entregas?${query}`)).json()),
    delivery: async (entrega: string) =>
      deliveryAnswer.parse(await (await by.request(`${entregas}/${entrega}`)).json()).data,
  };
}

interface Outcome {
  success: boolean;
  retryInMs?: number | null;
  response?: string;
  responseCut?: boolean;
}

/** Claims everything that is due, as a worker does, and records results without sending. */
export async function work(around: Surroundings, webhook: string, outcome: Outcome) {
  const { deliveries } = await claimDeliveries(around.pool, webhook, claimLimits, () => 50);
  await recordResults(
    around.pool,
    webhook,
    deliveries.map((delivery) => ({
      ...delivery,
      durationMs: 12,
      success: outcome.success,
      httpStatus: outcome.success ? 204 : 503,
      failure: outcome.success ? null : 'estado_http',
      response: Buffer.from(outcome.response ?? ''),
      responseCut: outcome.responseCut ?? false,
      retryInMs: outcome.retryInMs ?? null,
    })),
  );
  return deliveries;
}
