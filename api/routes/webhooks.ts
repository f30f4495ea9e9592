import { randomBytes } from 'node:crypto';
import { inTransaction } from '../../pipelines/runtime/postgres.ts';
import { deleteWebhookIn } from '../../pipelines/webhooks/pauses.ts';
import { type CreateResult, changeWebhook, createWebhook, listWebhooks } from '../../pipelines/webhooks/webhooks.ts';
import { newWebhook, webhookPatch } from '../../schemas/http/webhooks.ts';
import { watchPlan } from '../accounts/callers.ts';
import { answerNothing, answerPrivately } from '../answers.ts';
import { ApiProblem, notFound } from '../problems.ts';
import { type ApiRouter, bodyOf, callerOf, readBody, refuseQuery } from '../request.ts';
import { mayReadWatch, mayWatch } from './watch-access.ts';
import { registerMetaOf } from './watch-meta.ts';
import type { WebhookParts } from './webhook-actions.ts';
import { idInPath, requireTarget, requireWebhook, shownWebhook, webhooksPath } from './webhook-shown.ts';

export const maxWebhooks = 50;

/** Webhooks of the caller's account: create, read, change, delete. */
export function registerWebhookRoutes(router: ApiRouter, parts: WebhookParts): void {
  const { catalogue, pool } = parts;
  const watches = mayWatch(parts.identify);
  const reads = mayReadWatch(parts.identify, pool);

  router.post(webhooksPath, watches, readBody, async (context) => {
    refuseQuery(context);
    const wanted = bodyOf(context, newWebhook);
    const url = await requireTarget(parts.checkTarget, wanted.url);
    const meta = await registerMetaOf(catalogue);
    const id = `wh_${randomBytes(16).toString('hex')}`;
    const secret = parts.makeSecret();
    const result = await createWebhook(
      pool,
      callerOf(context).accountId,
      {
        id,
        url,
        eventos: wanted.eventos ?? null,
        listas: wanted.listas ?? null,
        descripcion: wanted.descripcion ?? null,
        limite_por_segundo: wanted.limite_por_segundo ?? null,
        en_vuelo: wanted.en_vuelo ?? null,
        secret: parts.sealSecret(id, secret),
      },
      maxWebhooks,
      watchPlan,
    );
    if (!result.ok) throw creationProblem(result);
    context.set('Location', `${webhooksPath}/${id}`);
    const data = { ...shownWebhook(result.webhook), secreto: secret };
    answerPrivately(context, 201, data, meta);
  });

  router.get(webhooksPath, reads, async (context) => {
    refuseQuery(context);
    const webhooks = await listWebhooks(pool, callerOf(context).accountId);
    answerPrivately(context, 200, webhooks.map(shownWebhook), await registerMetaOf(catalogue));
  });

  router.get(`${webhooksPath}/:webhook`, reads, async (context) => {
    refuseQuery(context);
    const webhook = await requireWebhook(pool, context);
    answerPrivately(context, 200, shownWebhook(webhook), await registerMetaOf(catalogue));
  });

  router.patch(`${webhooksPath}/:webhook`, watches, readBody, async (context) => {
    refuseQuery(context);
    const patch = bodyOf(context, webhookPatch);
    const { id } = await requireWebhook(pool, context);
    const url = patch.url === undefined ? undefined : await requireTarget(parts.checkTarget, patch.url);
    const meta = await registerMetaOf(catalogue);
    const result = await changeWebhook(pool, callerOf(context).accountId, id, { ...patch, url });
    if (!result.ok) throw notFound(result.problem === 'not_found' ? 'El webhook' : `La lista ${result.list}`);
    answerPrivately(context, 200, shownWebhook(result.webhook), meta);
  });

  router.delete(`${webhooksPath}/:webhook`, watches, async (context) => {
    refuseQuery(context);
    const { accountId } = callerOf(context);
    const id = idInPath(context, 'webhook', 'El webhook');
    if (!(await inTransaction(pool, (client) => deleteWebhookIn(client, accountId, id)))) throw notFound('El webhook');
    answerNothing(context);
  });
}

function creationProblem(result: CreateResult & { ok: false }): ApiProblem {
  if (result.problem === 'too_many')
    return new ApiProblem('limite_excedido', `La cuenta admite hasta ${maxWebhooks} webhooks.`);
  return notFound(`La lista ${result.list}`);
}
