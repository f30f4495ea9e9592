import { randomBytes } from 'node:crypto';
import type { TargetProblem } from '../../pipelines/runtime/egress/policy.ts';
import { inTransaction, type Pool } from '../../pipelines/runtime/postgres.ts';
import { pageOwnerNotices, type StoredOwnerNotice } from '../../pipelines/webhooks/owner-notices.ts';
import { deleteWebhookIn, discardHeld, pauseWebhook, resumeWebhook } from '../../pipelines/webhooks/pauses.ts';
import { writePing } from '../../pipelines/webhooks/resend.ts';
import {
  type CreateResult,
  changeWebhook,
  createWebhook,
  listWebhooks,
  readWebhook,
  rotateSecret,
  type Webhook,
} from '../../pipelines/webhooks/webhooks.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { watchPlan } from '../accounts/callers.ts';
import { registerMeta } from '../catalogue.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { pageOf, readCursor } from '../input.ts';
import { operations } from '../operations.ts';
import { ApiProblem, notFound } from '../problems.ts';
import { type ApiContext, callerOf } from '../request.ts';
import type { Handlers } from '../router.ts';

export const maxWebhooks = 50;
const secondsPerHour = 3_600;

/** Handlers of the webhooks of the caller's account, and of the owner notices (mails to the owner) about them. */
export function makeWebhookHandlers(dependencies: ApiDependencies) {
  const { catalogue, pool, checkTarget } = dependencies;
  return {
    async crearWebhook({ body }, context) {
      const url = await requireTarget(checkTarget, body.url);
      const meta = await registerMeta(catalogue);
      const id = `wh_${randomBytes(16).toString('hex')}`;
      const secret = dependencies.makeSecret();
      const wanted = { ...body, id, url, secret: dependencies.sealSecret(id, secret) };
      const result = await createWebhook(pool, callerOf(context).accountId, wanted, maxWebhooks, watchPlan);
      if (!result.ok) throw creationProblem(result);
      context.set('Location', `${operations.crearWebhook.path}/${id}`);
      return { data: { ...shownWebhook(result.webhook), secreto: secret }, meta };
    },

    async verWebhooks(_, context) {
      const webhooks = await listWebhooks(pool, callerOf(context).accountId);
      return { data: webhooks.map(shownWebhook), meta: await registerMeta(catalogue) };
    },

    async verWebhook({ params }, context) {
      const webhook = await requireWebhook(pool, context, params.webhook);
      return { data: shownWebhook(webhook), meta: await registerMeta(catalogue) };
    },

    async cambiarWebhook({ params, body }, context) {
      const { id } = await requireWebhook(pool, context, params.webhook);
      const url = body.url === undefined ? undefined : await requireTarget(checkTarget, body.url);
      const meta = await registerMeta(catalogue);
      const result = await changeWebhook(pool, callerOf(context).accountId, id, { ...body, url });
      if (!result.ok) throw notFound(result.problem === 'not_found' ? 'El webhook' : `La lista ${result.list}`);
      return { data: shownWebhook(result.webhook), meta };
    },

    async borrarWebhook({ params }, context) {
      const { accountId } = callerOf(context);
      const id = requireId(params.webhook, 'El webhook');
      if (!(await inTransaction(pool, (client) => deleteWebhookIn(client, accountId, id))))
        throw notFound('El webhook');
    },

    async verAvisos({ query: { limite, cursor } }, context) {
      const before = cursor === undefined ? null : Number(readCursor('avisos', cursor, ''));
      const notices = await pageOwnerNotices(pool, callerOf(context).accountId, before, limite + 1);
      const { page, cursor: next } = pageOf('avisos', notices, limite, ({ id }) => id);
      return { data: page.map(shownNotice), meta: { ...(await registerMeta(catalogue)), cursor: next } };
    },
  } satisfies Partial<Handlers>;
}

export function makeWebhookActionHandlers(dependencies: ApiDependencies) {
  const { catalogue, pool, checkTarget, wake } = dependencies;
  const currentState = async (context: ApiContext, id: string) => {
    const webhook = await requireWebhook(pool, context, id);
    return { data: shownWebhook(webhook), meta: await registerMeta(catalogue) };
  };
  return {
    async pausarWebhook({ params }, context) {
      const { id } = await requireWebhook(pool, context, params.webhook);
      await pauseWebhook(pool, id, 'cliente');
      return currentState(context, id);
    },

    // A repeated call is harmless: at a webhook that is not paused, `discardHeld` and `resumeWebhook` change nothing.
    async reanudarWebhook({ params, body: { pendientes } }, context) {
      const { id } = await requireWebhook(pool, context, params.webhook);
      if (pendientes === 'ninguno') await discardHeld(pool, id, null);
      else if (pendientes !== 'todos') await discardHeld(pool, id, new Date(pendientes.desde));
      const { resumed } = await resumeWebhook(pool, id);
      if (resumed) await wake(id);
      return currentState(context, id);
    },

    async probarWebhook({ params }, context) {
      const { id, url } = await requireWebhook(pool, context, params.webhook);
      await requireTarget(checkTarget, url);
      const meta = await registerMeta(catalogue);
      const entrega = await writePing(pool, callerOf(context).accountId, id, new Date());
      if (entrega === null) throw notFound('El webhook');
      await wake(id);
      return { data: { entrega }, meta };
    },

    async cambiarSecreto({ params, body: { gracia_horas } }, context) {
      const { id } = await requireWebhook(pool, context, params.webhook);
      const meta = await registerMeta(catalogue);
      const secreto = dependencies.makeSecret();
      const sealed = dependencies.sealSecret(id, secreto);
      const until = await rotateSecret(pool, callerOf(context).accountId, id, sealed, gracia_horas * secondsPerHour);
      if (until === null) throw notFound('El webhook');
      return { data: { secreto, anterior_vence_en: limaTime(until) }, meta };
    },
  } satisfies Partial<Handlers>;
}

/** @throws ApiProblem recurso_no_encontrado when the webhook does not exist or belongs to another account */
export async function requireWebhook(pool: Pool, context: ApiContext, id: string): Promise<Webhook> {
  const webhook = await readWebhook(pool, callerOf(context).accountId, requireId(id, 'El webhook'));
  if (webhook === null) throw notFound('El webhook');
  return webhook;
}

/**
 * Returns `text` if it has the form of an id. PostgreSQL would refuse some other texts with an error.
 * @throws ApiProblem recurso_no_encontrado when the text does not have the form of an id
 */
export function requireId(text: string, what: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(text)) throw notFound(what);
  return text;
}

/** Returns the fields in the order in which the API has always shown them. */
function shownWebhook({ created_at, ultima_entrega_at, listas, pendientes, ...webhook }: Webhook) {
  return {
    ...webhook,
    listas,
    pendientes,
    ultima_entrega: ultima_entrega_at === null ? null : limaTime(ultima_entrega_at),
    creado_en: limaTime(created_at),
  };
}

function shownNotice({ id, kind, webhookId, detail, at }: StoredOwnerNotice) {
  const { primer_fallo_en: since } = detail;
  return {
    id,
    aviso: kind,
    webhook: webhookId,
    ocurrido_en: limaTime(at),
    detalle: { ...detail, ...(typeof since === 'string' ? { primer_fallo_en: limaTime(new Date(since)) } : {}) },
  };
}

/** @throws ApiProblem url_no_permitida */
async function requireTarget(checkTarget: ApiDependencies['checkTarget'], url: string): Promise<string> {
  const target = await checkTarget(url);
  if (target.ok) return target.url;
  // Only the kind of problem is shown, so that nobody learns here which addresses a name has inside a network.
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

function creationProblem(result: CreateResult & { ok: false }): ApiProblem {
  if (result.problem === 'too_many')
    return new ApiProblem('limite_excedido', `La cuenta admite hasta ${maxWebhooks} webhooks.`);
  return notFound(`La lista ${result.list}`);
}
