import { randomBytes } from 'node:crypto';
import type { TargetProblem } from '../../deploy/runtime/egress/policy.ts';
import { inTransaction, type Pool } from '../../deploy/runtime/postgres.ts';
import type { SealedSecret } from '../../deploy/runtime/secrets.ts';
import { deleteWebhookIn, pauseWebhook, resumeWebhook } from '../../pipelines/watch/deliveries.ts';
import {
  type CreateResult,
  createWebhook,
  discardHeld,
  listWebhooks,
  readWebhook,
  type Webhook,
} from '../../pipelines/watch/webhooks.ts';
import { noParameters } from '../../schemas/http/envelope.ts';
import { newWebhook, resumption } from '../../schemas/http/webhooks.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerPrivately } from '../answers.ts';
import { bodyOf, optionalBodyOf, readBody } from '../body.ts';
import type { Catalogue } from '../catalogue.ts';
import { ApiProblem, notFound } from '../problems.ts';
import { type ApiContext, type ApiRouter, access, callerOf, refuseQuery } from '../request.ts';
import { registerMetaOf } from './watch-meta.ts';

export const maxWebhooks = 50;
export const webhooksPath = '/id/v1/watch/webhooks';

export interface WebhookParts {
  identify: Identify;
  catalogue: Catalogue;
  pool: Pool;
  /** Form, port, names and every address of the URL; the checked URL's text, or why not, as a class. */
  checkTarget: (url: string) => Promise<{ ok: true; url: string } | { ok: false; problem: TargetProblem }>;
  makeSecret: () => string;
  sealSecret: (webhookId: string, secret: string) => SealedSecret;
  /** Tells the delivery workflow that there is work. Best effort: what it misses, the worker's sweeper finds. */
  wake: (webhookId: string) => Promise<void>;
}

/** Webhooks of the caller's account: create, read, delete, pause, resume. */
export function registerWebhookRoutes(router: ApiRouter, parts: WebhookParts): void {
  const { catalogue, pool } = parts;
  const mayWatch = access(parts.identify, 'crecimiento');

  router.post(webhooksPath, mayWatch, readBody, async (context) => {
    refuseQuery(context);
    const wanted = bodyOf(context, newWebhook);
    const target = await parts.checkTarget(wanted.url);
    if (!target.ok) throw urlNotAllowed(target.problem);
    const meta = await registerMetaOf(catalogue);
    const id = `wh_${randomBytes(16).toString('hex')}`;
    const secret = parts.makeSecret();
    const result = await createWebhook(
      pool,
      callerOf(context).accountId,
      {
        id,
        url: target.url,
        eventos: wanted.eventos ?? null,
        listas: wanted.listas ?? null,
        descripcion: wanted.descripcion ?? null,
        limite_por_segundo: wanted.limite_por_segundo ?? null,
        en_vuelo: wanted.en_vuelo ?? null,
        secret: parts.sealSecret(id, secret),
      },
      maxWebhooks,
    );
    if (!result.ok) throw creationProblem(result);
    context.set('Location', `${webhooksPath}/${id}`);
    const data = { ...shownWebhook(result.webhook), secreto: secret };
    answerPrivately(context, 201, data, meta);
  });

  router.get(webhooksPath, mayWatch, async (context) => {
    refuseQuery(context);
    const webhooks = await listWebhooks(pool, callerOf(context).accountId);
    answerPrivately(context, 200, webhooks.map(shownWebhook), await registerMetaOf(catalogue));
  });

  router.get(`${webhooksPath}/:webhook`, mayWatch, async (context) => {
    refuseQuery(context);
    const webhook = await requireWebhook(pool, context);
    answerPrivately(context, 200, shownWebhook(webhook), await registerMetaOf(catalogue));
  });

  router.delete(`${webhooksPath}/:webhook`, mayWatch, async (context) => {
    refuseQuery(context);
    const { accountId } = callerOf(context);
    const id = context.params.webhook ?? '';
    if (!(await inTransaction(pool, (client) => deleteWebhookIn(client, accountId, id)))) throw notFound('El webhook');
    context.status = 204;
  });

  router.post(`${webhooksPath}/:webhook/pausar`, mayWatch, readBody, async (context) => {
    refuseQuery(context);
    optionalBodyOf(context, noParameters);
    const { id } = await requireWebhook(pool, context);
    await pauseWebhook(pool, id, 'cliente');
    answerPrivately(context, 200, shownWebhook(await requireWebhook(pool, context)), await registerMetaOf(catalogue));
  });

  // The customer's notice that the endpoint is fine. Repeatable: resuming what is not paused changes nothing.
  router.post(`${webhooksPath}/:webhook/reanudar`, mayWatch, readBody, async (context) => {
    refuseQuery(context);
    const { pendientes } = optionalBodyOf(context, resumption);
    const { id } = await requireWebhook(pool, context);
    if (pendientes === 'ninguno') await discardHeld(pool, id, null);
    else if (pendientes !== 'todos') await discardHeld(pool, id, new Date(pendientes.desde));
    const { resumed } = await resumeWebhook(pool, id);
    if (resumed) await parts.wake(id);
    answerPrivately(context, 200, shownWebhook(await requireWebhook(pool, context)), await registerMetaOf(catalogue));
  });
}

/** @throws ApiProblem recurso_no_encontrado: not there, or another account's */
export async function requireWebhook(pool: Pool, context: ApiContext): Promise<Webhook> {
  const webhook = await readWebhook(pool, callerOf(context).accountId, context.params.webhook ?? '');
  if (webhook === null) throw notFound('El webhook');
  return webhook;
}

export function shownWebhook({ created_at, ultima_entrega_at, pendientes, ...webhook }: Webhook) {
  return {
    ...webhook,
    pendientes,
    ultima_entrega: ultima_entrega_at === null ? null : limaTime(ultima_entrega_at),
    creado_en: limaTime(created_at),
  };
}

// A class and no detail: which address a name has inside a network is nobody's to learn here.
function urlNotAllowed(problem: TargetProblem): ApiProblem {
  return new ApiProblem('url_no_permitida', 'La URL no se admite como destino de avisos.', {
    clase: problem,
    errors: [{ campo: 'url', mensaje: problem }],
  });
}

function creationProblem(result: CreateResult & { ok: false }): ApiProblem {
  if (result.problem === 'too_many')
    return new ApiProblem('limite_excedido', `La cuenta admite hasta ${maxWebhooks} webhooks.`);
  return notFound(`La lista ${result.list}`);
}
