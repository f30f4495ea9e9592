import type { Dispatcher } from 'undici';
import { type ExchangeLimits, exchange } from '../../pipelines/runtime/egress/exchange.ts';
import type { NetworkFailure } from '../../pipelines/runtime/egress/failure.ts';
import type { EgressPolicy } from '../../pipelines/runtime/egress/policy.ts';
import { checkTargetUrl } from '../../pipelines/runtime/egress/target.ts';
import type { ClaimedDelivery, WebhookTarget } from '../../pipelines/webhooks/claim.ts';
import type { AttemptResult } from '../../pipelines/webhooks/results.ts';
import { honoursRetryAfter, nextDelayMs, parseRetryAfter, type RetrySchedule } from './backoff.ts';
import { deliveryHeaders } from './signature.ts';

export interface AttemptDependencies {
  dispatcher: Dispatcher;
  policy: EgressPolicy;
  limits: ExchangeLimits;
  schedule: RetrySchedule;
  /** The release's version, which is sent in the User-Agent header. */
  version: string;
}

/** How an attempt ended, and the URL that it was sent to. */
export interface SentAttempt extends AttemptResult {
  url: string;
}

/**
 * Sends one delivery once: signs the stored bytes with the current time, sends them, and classifies the answer. Nothing
 * that a receiver does makes the function throw. No transaction is open while it runs.
 */
export async function sendAttempt(
  dependencies: AttemptDependencies,
  target: WebhookTarget,
  secrets: readonly string[],
  delivery: ClaimedDelivery,
): Promise<SentAttempt> {
  const began = performance.now();
  const outcome = await ask(dependencies, target, secrets, delivery);
  const durationMs = Math.round(performance.now() - began);
  const { day, id, leaseToken, attempt, isTest } = delivery;
  const common = { url: target.url, day, id, leaseToken, attempt, isTest, durationMs };
  if (outcome.failure === null) return { ...common, ...outcome, success: true, failure: null, retryInMs: null };
  const failures = delivery.failuresOfCycle + 1;
  // A test delivery is not retried, because the customer sees the result and can send another test.
  const { schedule } = dependencies;
  const retryInMs = isTest ? null : nextDelayMs(schedule, failures, outcome.retryAfterMs, Math.random());
  return { ...common, ...outcome, success: false, retryInMs };
}

async function ask(
  { dispatcher, policy, limits, version }: AttemptDependencies,
  target: WebhookTarget,
  secrets: readonly string[],
  delivery: ClaimedDelivery,
) {
  const nothing = { httpStatus: null, response: null, responseCut: false, retryAfterMs: null };
  // The URL is checked at every attempt, because the rules or the URL may have changed since the webhook was made.
  const checked = checkTargetUrl(target.url, policy);
  if (!checked.ok) return { ...nothing, failure: shown[checked.problem] };
  const headers = deliveryHeaders(delivery, secrets, Math.floor(Date.now() / 1_000), version);
  const body = Buffer.from(delivery.payload, 'utf8');
  const answer = await exchange(dispatcher, { url: checked.url, headers, body }, limits);
  if (!answer.answered) return { ...nothing, failure: shown[answer.failure] };
  // Node's type allows only a string, but undici returns a list for a header that came twice.
  const retryAfter: string | string[] | undefined = answer.headers['retry-after'];
  return {
    httpStatus: answer.status,
    failure: failureOfStatus(answer.status),
    response: answer.body,
    responseCut: answer.bodyProblem !== null,
    retryAfterMs: honoursRetryAfter(answer.status) ? parseRetryAfter(retryAfter, Date.now()) : null,
  };
}

/**
 * The kind of failure that customers see when an attempt gets no answer. More detail would let a customer use the
 * service as a port scanner. After an answer, customers see a kind of failureOfStatus(). If the result of an attempt is
 * never recorded, they see `resultado_desconocido`, which claimDeliveries() writes before the attempt.
 */
const shown: Readonly<Record<NetworkFailure, string>> = {
  malformed: 'direccion_no_permitida',
  scheme: 'direccion_no_permitida',
  userinfo: 'direccion_no_permitida',
  port: 'direccion_no_permitida',
  own_host: 'direccion_no_permitida',
  address_not_allowed: 'direccion_no_permitida',
  name_not_resolved: 'nombre_no_resuelto',
  connect_timeout: 'sin_conexion',
  no_connection: 'sin_conexion',
  connection_lost: 'conexion_interrumpida',
  timeout: 'tiempo_agotado',
  certificate_expired: 'certificado_vencido',
  certificate_untrusted: 'certificado_no_confiable',
  certificate_wrong_name: 'certificado_de_otro_nombre',
  tls_failed: 'tls_fallido',
  answer_malformed: 'respuesta_ilegible',
};

/** Returns null for a success, which is any 2xx status. */
function failureOfStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redireccion' : 'estado_http';
}
