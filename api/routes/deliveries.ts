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
  maxRunningRecoveries,
  type Recovery,
  readRecovery,
} from '../../pipelines/webhooks/recoveries.ts';
import { type NotResent, resendDelivery } from '../../pipelines/webhooks/resend.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { registerMeta } from '../catalogue.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { instantAfter, instantFrom, pageOf, readCursor } from '../input.ts';
import { operations } from '../operations.ts';
import { ApiProblem, fieldProblem, notFound } from '../problems.ts';
import { callerOf } from '../request.ts';
import type { Handlers } from '../router.ts';
import { requireId, requireWebhook } from './webhooks.ts';

/**
 * Largest number of attempts that are shown of one delivery: the last ones. The retry schedule makes ten attempts, so
 * only a delivery that was sent again many times has more than are shown.
 */
export const maxShownAttempts = 200;

/** Returns the place of a delivery in its list, for a cursor. */
export function placeKey({ createdMicros, id }: DeliveryPlace): string {
  return `${createdMicros}.${id}`;
}

export function makeDeliveryHandlers({ catalogue, pool, wake }: ApiDependencies) {
  return {
    async verEntregas({ params, query }, context) {
      const { estado, desde, hasta, limite, cursor } = query;
      const after = readPlace(cursor);
      const { id } = await requireWebhook(pool, context, params.webhook);
      const from = desde === undefined ? undefined : instantFrom(desde);
      const before = hasta === undefined ? undefined : instantAfter(hasta);
      const deliveries = await pageDeliveries(pool, id, { estado, from, before, after }, limite + 1);
      const { page, cursor: next } = pageOf('entregas', deliveries, limite, placeKey);
      return { data: page.map(shownDelivery), meta: { ...(await registerMeta(catalogue)), cursor: next } };
    },

    async verEntrega({ params }, context) {
      const id = requireId(params.entrega, 'La entrega');
      const delivery = await readDelivery(pool, callerOf(context).accountId, id);
      if (delivery === null) throw notFound('La entrega');
      const attempts = await readAttempts(pool, delivery, maxShownAttempts);
      const data = { ...shownDelivery(delivery), historial_intentos: attempts.map(shownAttempt) };
      return { data, meta: await registerMeta(catalogue) };
    },

    async reenviarEntrega({ params }, context) {
      const id = requireId(params.entrega, 'La entrega');
      const meta = await registerMeta(catalogue);
      const resent = await resendDelivery(pool, callerOf(context).accountId, id);
      if (!resent.ok) throw notResent(resent);
      if (resent.estado === 'pendiente') await wake(resent.webhookId);
      return { data: { id, estado: resent.estado }, meta };
    },
  } satisfies Partial<Handlers>;
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
    // A receiver may respond with any bytes. Bytes that are not UTF-8 become the replacement character.
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
  return fieldProblem('parametro_invalido', 'entrega', mensaje, `La entrega ${mensaje}.`);
}

/** @throws ApiProblem parametro_invalido */
export function readPlace(cursor: string | undefined): DeliveryPlace | null {
  if (cursor === undefined) return null;
  const [createdMicros, id] = readCursor('entregas', cursor, '').split('.');
  return { createdMicros: Number(createdMicros), id: id! };
}

const what = 'La recuperación';

/**
 * Handlers of recoveries. A recovery counts the deliveries that a webhook missed and then sends them again in chunks
 * (pipelines/webhooks/recoveries.ts).
 */
export function makeRecoveryHandlers({ catalogue, pool }: ApiDependencies) {
  return {
    async crearRecuperacion({ params, body: { desde, hasta, estados, simular } }, context) {
      const webhook = await requireWebhook(pool, context, params.webhook);
      const wanted = {
        from: new Date(desde),
        before: hasta === undefined ? null : instantAfter(hasta),
        states: estados,
        isSimulated: simular,
      };
      const meta = await registerMeta(catalogue);
      const recovery = await createRecovery(pool, webhook.id, wanted);
      if (recovery === null) throw tooMany();
      const path = operations.crearRecuperacion.path.replace('{webhook}', webhook.id);
      context.set('Location', `${path}/${recovery.id}`);
      return { data: { id: recovery.id, total: recovery.total }, meta };
    },

    async verRecuperacion({ params }, context) {
      const webhook = await requireWebhook(pool, context, params.webhook);
      const recovery = await readRecovery(pool, webhook.id, requireId(params.recuperacion, what));
      if (recovery === null) throw notFound(what);
      return { data: shownRecovery(recovery), meta: await registerMeta(catalogue) };
    },

    async cancelarRecuperacion({ params }, context) {
      const webhook = await requireWebhook(pool, context, params.webhook);
      if (!(await cancelRecovery(pool, webhook.id, requireId(params.recuperacion, what)))) throw notFound(what);
    },
  } satisfies Partial<Handlers>;
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
