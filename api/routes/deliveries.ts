import {
  type DeliveryPlace,
  type LoggedAttempt,
  type LoggedDelivery,
  pageDeliveries,
  readAttempts,
  readDelivery,
} from '../../pipelines/webhooks/delivery-log.ts';
import {
  cancelRecovery,
  createRecovery,
  leftOut,
  type Recovery,
  readRecovery,
} from '../../pipelines/webhooks/recoveries.ts';
import { type NotResent, resendDelivery } from '../../pipelines/webhooks/resend.ts';
import { deliveriesQuery, newRecovery } from '../../schemas/http/deliveries.ts';
import { noParameters } from '../../schemas/http/envelope.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { answerNothing, answerPrivately } from '../answers.ts';
import { instantAfter, instantFrom, readCursor, writeCursor } from '../input.ts';
import { ApiProblem, notFound } from '../problems.ts';
import { type ApiRouter, bodyOf, callerOf, optionalBodyOf, parseInput, readBody, refuseQuery } from '../request.ts';
import { mayReadWatch, mayWatch, registerMetaOf } from './access.ts';
import { idInPath, requireWebhook, type WebhookParts, webhooksPath } from './webhooks.ts';

const deliveriesPath = '/id/v1/watch/entregas';
/** Of one delivery: the last ones. More than a schedule and some resends make. */
const maxShownAttempts = 200;

/** What was sent to a webhook, how each try went, and sending one again. */
export function registerDeliveryRoutes(router: ApiRouter, parts: WebhookParts): void {
  const { catalogue, pool } = parts;
  const reads = mayReadWatch(parts.identify, pool);

  router.get(`${webhooksPath}/:webhook/entregas`, reads, async (context) => {
    const { estado, desde, hasta, limite, cursor } = parseInput(deliveriesQuery, context.query);
    const after = readPlace(cursor);
    const { id } = await requireWebhook(pool, context);
    const from = desde === undefined ? undefined : instantFrom(desde);
    const before = hasta === undefined ? undefined : instantAfter(hasta);
    const deliveries = await pageDeliveries(pool, id, { estado, from, before, after }, limite + 1);
    const page = deliveries.slice(0, limite);
    const next = deliveries.length > limite ? writePlace(page.at(-1)!.place) : null;
    answerPrivately(context, 200, page.map(shownDelivery), { ...(await registerMetaOf(catalogue)), cursor: next });
  });

  router.get(`${deliveriesPath}/:entrega`, reads, async (context) => {
    refuseQuery(context);
    const delivery = await readDelivery(pool, callerOf(context).accountId, idInPath(context, 'entrega', 'La entrega'));
    if (delivery === null) throw notFound('La entrega');
    const attempts = await readAttempts(pool, delivery, maxShownAttempts);
    const data = { ...shownDelivery(delivery), historial_intentos: attempts.map(shownAttempt) };
    answerPrivately(context, 200, data, await registerMetaOf(catalogue));
  });

  router.post(`${deliveriesPath}/:entrega/reenviar`, mayWatch(parts.identify), readBody, async (context) => {
    refuseQuery(context);
    optionalBodyOf(context, noParameters);
    const id = idInPath(context, 'entrega', 'La entrega');
    const meta = await registerMetaOf(catalogue);
    const resent = await resendDelivery(pool, callerOf(context).accountId, id);
    if (!resent.ok) throw notResent(resent);
    if (resent.estado === 'pendiente') await parts.wake(resent.webhookId);
    answerPrivately(context, 202, { id, estado: resent.estado }, meta);
  });
}

function shownDelivery(delivery: LoggedDelivery) {
  return {
    id: delivery.id,
    evento: delivery.evento,
    evento_id: delivery.eventId,
    estado: delivery.estado,
    intentos: delivery.attempts,
    creada_en: limaTime(delivery.createdAt),
    proximo_intento_en: delivery.nextAttemptAt === null ? null : limaTime(delivery.nextAttemptAt),
  };
}

function shownAttempt(attempt: LoggedAttempt) {
  const { number, startedAt, durationMs, httpStatus, failure, response, responseCut } = attempt;
  return {
    numero: number,
    inicio: limaTime(startedAt),
    duracion_ms: durationMs,
    estado_http: httpStatus,
    fallo: failure,
    // Whatever bytes an endpoint sends, as text; those that are none become the replacement character.
    respuesta: response === null ? null : response.toString('utf8'),
    respuesta_cortada: responseCut,
  };
}

function notResent(refused: NotResent): ApiProblem {
  if (refused.problem === 'not_found') return notFound('La entrega');
  const mensaje =
    refused.problem === 'cancelled'
      ? 'está cancelada: una corrección retiró lo que decía, o su webhook se borró'
      : `no se envía otra vez: la edición ${refused.by.edition} (${refused.by.fechaDato}) corrigió lo que dice`;
  return new ApiProblem('parametro_invalido', `La entrega ${mensaje}.`, { errors: [{ campo: 'entrega', mensaje }] });
}

function writePlace({ createdMicros, id }: DeliveryPlace): string {
  return writeCursor('entregas', `${createdMicros}.${id}`);
}

/** @throws ApiProblem parametro_invalido */
function readPlace(cursor: string | undefined): DeliveryPlace | null {
  if (cursor === undefined) return null;
  const [createdMicros, id] = readCursor('entregas', cursor, '').split('.');
  return { createdMicros: Number(createdMicros), id: id! };
}

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
