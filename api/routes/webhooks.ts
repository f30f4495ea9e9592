import { randomBytes } from 'node:crypto';
import type { TargetProblem } from '../../pipelines/runtime/egress/policy.ts';
import { inTransaction, type Pool } from '../../pipelines/runtime/postgres.ts';
import type { SealedSecret } from '../../pipelines/runtime/secrets.ts';
import { deleteWebhookIn, pauseWebhook, resumeWebhook } from '../../pipelines/webhooks/pauses.ts';
import { writePing } from '../../pipelines/webhooks/resend.ts';
import {
  type CreateResult,
  changeWebhook,
  createWebhook,
  discardHeld,
  listWebhooks,
  readWebhook,
  rotateSecret,
  type Webhook,
} from '../../pipelines/webhooks/webhooks.ts';
import { noParameters } from '../../schemas/http/envelope.ts';
import { newWebhook, resumption, rotation, webhookPatch } from '../../schemas/http/webhooks.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { type Identify, watchPlan } from '../accounts/callers.ts';
import { answerNothing, answerPrivately } from '../answers.ts';
import type { Catalogue } from '../catalogue.ts';
import { ApiProblem, notFound } from '../problems.ts';
import {
  type ApiContext,
  type ApiRouter,
  bodyOf,
  callerOf,
  optionalBodyOf,
  readBody,
  refuseQuery,
} from '../request.ts';
import { mayReadWatch, mayWatch, registerMetaOf } from './access.ts';

export const webhooksPath = '/id/v1/watch/webhooks';

/** @throws ApiProblem recurso_no_encontrado: not there, or another account's */
export async function requireWebhook(pool: Pool, context: ApiContext): Promise<Webhook> {
  const webhook = await readWebhook(pool, callerOf(context).accountId, idInPath(context, 'webhook', 'El webhook'));
  if (webhook === null) throw notFound('El webhook');
  return webhook;
}

function shownWebhook({ created_at, ultima_entrega_at, pendientes, ...webhook }: Webhook) {
  return {
    ...webhook,
    pendientes,
    ultima_entrega: ultima_entrega_at === null ? null : limaTime(ultima_entrega_at),
    creado_en: limaTime(created_at),
  };
}

/** @throws ApiProblem recurso_no_encontrado: what has no id's form is nobody's, and PostgreSQL might not even read it */
export function idInPath(context: ApiContext, name: 'webhook' | 'entrega' | 'recuperacion', what: string): string {
  const id = context.params[name] ?? '';
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) throw notFound(what);
  return id;
}

/** Form, port, names and every address of the URL; the checked URL's text, or why not, as a class. */
type CheckTarget = (url: string) => Promise<{ ok: true; url: string } | { ok: false; problem: TargetProblem }>;

/** @throws ApiProblem url_no_permitida */
async function requireTarget(checkTarget: CheckTarget, url: string): Promise<string> {
  const target = await checkTarget(url);
  if (target.ok) return target.url;
  // A class and no detail: which address a name has inside a network is nobody's to learn here.
  const mensaje = targetTexts[target.problem];
  throw new ApiProblem('url_no_permitida', `La URL no se admite como destino de avisos: ${mensaje}.`, {
    clase: target.problem,
    errors: [{ campo: 'url', mensaje }],
  });
}

const targetTexts: Readonly<Record<TargetProblem, string>> = {
  malformed: 'no es una dirección completa, como https://ejemplo.pe/avisos',
  scheme: 'debe empezar con https://',
  userinfo: 'no debe llevar usuario ni contraseña',
  port: 'usa un puerto que no se admite',
  own_host: 'es la de este servicio',
  address_not_allowed: 'apunta a una red que no es pública',
  name_not_resolved: 'su nombre no se encuentra en Internet (DNS)',
};

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
