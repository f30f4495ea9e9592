import type { TargetProblem } from '../../pipelines/runtime/egress/policy.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { readWebhook, type Webhook } from '../../pipelines/webhooks/webhooks.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { ApiProblem, notFound } from '../problems.ts';
import { type ApiContext, callerOf } from '../request.ts';

export const webhooksPath = '/id/v1/watch/webhooks';

/** @throws ApiProblem recurso_no_encontrado: not there, or another account's */
export async function requireWebhook(pool: Pool, context: ApiContext): Promise<Webhook> {
  const webhook = await readWebhook(pool, callerOf(context).accountId, idInPath(context, 'webhook', 'El webhook'));
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

/** @throws ApiProblem recurso_no_encontrado: what has no id's form is nobody's, and PostgreSQL might not even read it */
export function idInPath(context: ApiContext, name: 'webhook' | 'entrega' | 'recuperacion', what: string): string {
  const id = context.params[name] ?? '';
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) throw notFound(what);
  return id;
}

/** Form, port, names and every address of the URL; the checked URL's text, or why not, as a class. */
export type CheckTarget = (url: string) => Promise<{ ok: true; url: string } | { ok: false; problem: TargetProblem }>;

/** @throws ApiProblem url_no_permitida */
export async function requireTarget(checkTarget: CheckTarget, url: string): Promise<string> {
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
