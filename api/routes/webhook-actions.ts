import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { SealedSecret } from '../../pipelines/runtime/secrets.ts';
import { pauseWebhook, resumeWebhook } from '../../pipelines/webhooks/pauses.ts';
import { writePing } from '../../pipelines/webhooks/resend.ts';
import { discardHeld, rotateSecret } from '../../pipelines/webhooks/webhooks.ts';
import { noParameters } from '../../schemas/http/envelope.ts';
import { resumption, rotation } from '../../schemas/http/webhooks.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerPrivately } from '../answers.ts';
import type { Catalogue } from '../catalogue.ts';
import { notFound } from '../problems.ts';
import { type ApiRouter, callerOf, optionalBodyOf, readBody, refuseQuery } from '../request.ts';
import { mayWatch } from './watch-access.ts';
import { registerMetaOf } from './watch-meta.ts';
import { type CheckTarget, requireTarget, requireWebhook, shownWebhook, webhooksPath } from './webhook-shown.ts';

export interface WebhookParts {
  identify: Identify;
  catalogue: Catalogue;
  pool: Pool;
  checkTarget: CheckTarget;
  makeSecret: () => string;
  sealSecret: (webhookId: string, secret: string) => SealedSecret;
  /** Tells the delivery workflow that there is work. Best effort: what it misses, the worker's sweeper finds. */
  wake: (webhookId: string) => Promise<void>;
}

const secondsPerHour = 3_600;

/** What is done with a webhook: pause, resume, test, another secret. */
export function registerWebhookActionRoutes(router: ApiRouter, parts: WebhookParts): void {
  const { catalogue, pool } = parts;
  const watches = mayWatch(parts.identify);
  const path = `${webhooksPath}/:webhook`;

  router.post(`${path}/pausar`, watches, readBody, async (context) => {
    refuseQuery(context);
    optionalBodyOf(context, noParameters);
    const { id } = await requireWebhook(pool, context);
    await pauseWebhook(pool, id, 'cliente');
    answerPrivately(context, 200, shownWebhook(await requireWebhook(pool, context)), await registerMetaOf(catalogue));
  });

  // The customer's notice that the endpoint is fine. Repeatable: resuming what is not paused changes nothing.
  router.post(`${path}/reanudar`, watches, readBody, async (context) => {
    refuseQuery(context);
    const { pendientes } = optionalBodyOf(context, resumption);
    const { id } = await requireWebhook(pool, context);
    if (pendientes === 'ninguno') await discardHeld(pool, id, null);
    else if (pendientes !== 'todos') await discardHeld(pool, id, new Date(pendientes.desde));
    const { resumed } = await resumeWebhook(pool, id);
    if (resumed) await parts.wake(id);
    answerPrivately(context, 200, shownWebhook(await requireWebhook(pool, context)), await registerMetaOf(catalogue));
  });

  router.post(`${path}/prueba`, watches, readBody, async (context) => {
    refuseQuery(context);
    optionalBodyOf(context, noParameters);
    const { id, url } = await requireWebhook(pool, context);
    await requireTarget(parts.checkTarget, url);
    const meta = await registerMetaOf(catalogue);
    const entrega = await writePing(pool, callerOf(context).accountId, id, new Date());
    if (entrega === null) throw notFound('El webhook');
    await parts.wake(id);
    answerPrivately(context, 202, { entrega }, meta);
  });

  router.post(`${path}/secreto`, watches, readBody, async (context) => {
    refuseQuery(context);
    const { gracia_horas } = optionalBodyOf(context, rotation);
    const { id } = await requireWebhook(pool, context);
    const meta = await registerMetaOf(catalogue);
    const secreto = parts.makeSecret();
    const sealed = parts.sealSecret(id, secreto);
    const until = await rotateSecret(pool, callerOf(context).accountId, id, sealed, gracia_horas * secondsPerHour);
    if (until === null) throw notFound('El webhook');
    answerPrivately(context, 200, { secreto, anterior_vence_en: limaTime(until) }, meta);
  });
}
