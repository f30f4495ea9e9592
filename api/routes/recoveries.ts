import {
  cancelRecovery,
  createRecovery,
  leftOut,
  type Recovery,
  readRecovery,
} from '../../pipelines/webhooks/recoveries.ts';
import { newRecovery } from '../../schemas/http/deliveries.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { answerNothing, answerPrivately } from '../answers.ts';
import { instantAfter } from '../input.ts';
import { ApiProblem, notFound } from '../problems.ts';
import { type ApiRouter, bodyOf, readBody, refuseQuery } from '../request.ts';
import { mayReadWatch, mayWatch } from './watch-access.ts';
import { registerMetaOf } from './watch-meta.ts';
import type { WebhookParts } from './webhook-actions.ts';
import { idInPath, requireWebhook, webhooksPath } from './webhook-shown.ts';

/** Recoveries of one webhook under way at the same time. */
const maxRunningRecoveries = 5;
const what = 'La recuperación';

/** Sending again what a webhook missed since an instant: counted first, then done in chunks (pipelines/watch/recoveries.ts). */
export function registerRecoveryRoutes(router: ApiRouter, parts: WebhookParts): void {
  const { catalogue, pool } = parts;
  const watches = mayWatch(parts.identify);
  const path = `${webhooksPath}/:webhook/recuperaciones`;

  router.post(path, watches, readBody, async (context) => {
    refuseQuery(context);
    const { desde, hasta, estados, simular } = bodyOf(context, newRecovery);
    const webhook = await requireWebhook(pool, context);
    const wanted = {
      from: new Date(desde),
      before: hasta === undefined ? null : instantAfter(hasta),
      states: estados,
      isSimulated: simular,
    };
    const meta = await registerMetaOf(catalogue);
    const recovery = await createRecovery(pool, webhook.id, wanted, maxRunningRecoveries);
    if (recovery === null) throw tooMany();
    context.set('Location', `${webhooksPath}/${webhook.id}/recuperaciones/${recovery.id}`);
    answerPrivately(context, 202, { id: recovery.id, total: recovery.total }, meta);
  });

  router.get(`${path}/:recuperacion`, mayReadWatch(parts.identify, pool), async (context) => {
    refuseQuery(context);
    const webhook = await requireWebhook(pool, context);
    const recovery = await readRecovery(pool, webhook.id, idInPath(context, 'recuperacion', what));
    if (recovery === null) throw notFound(what);
    answerPrivately(context, 200, shownRecovery(recovery), await registerMetaOf(catalogue));
  });

  router.delete(`${path}/:recuperacion`, watches, async (context) => {
    refuseQuery(context);
    const webhook = await requireWebhook(pool, context);
    if (!(await cancelRecovery(pool, webhook.id, idInPath(context, 'recuperacion', what)))) throw notFound(what);
    answerNothing(context);
  });
}

function shownRecovery(recovery: Recovery) {
  return {
    id: recovery.id,
    estado: recovery.estado,
    desde: limaTime(recovery.from),
    hasta: limaTime(recovery.until),
    estados: recovery.states,
    total: recovery.total,
    reenviadas: recovery.resent,
    omitidas: recovery.estado === 'terminada' ? leftOut(recovery) : null,
    creada_en: limaTime(recovery.createdAt),
    terminada_en: recovery.finishedAt === null ? null : limaTime(recovery.finishedAt),
  };
}

function tooMany(): ApiProblem {
  return new ApiProblem(
    'limite_excedido',
    `Un webhook admite hasta ${maxRunningRecoveries} recuperaciones en curso: espere a que una termine, o cancélela.`,
  );
}
