import { createHmac, timingSafeEqual } from 'node:crypto';
import type { EventPayload } from '../../schemas/http/events.ts';
import type { EventKind } from '../../schemas/registers.ts';

/** A request's headers: an object with `get`, or names and values. A value may be a list of one text. */
export type NoticeHeaders =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface Notice {
  /** All attempts of a delivery have the same id, so a receiver can drop a notice that it already has. */
  deliveryId: string;
  payload: NoticePayload;
}

export interface VerifyOptions {
  /** Largest allowed difference between the timestamp and now, in either direction; 300 if omitted. */
  toleranceSeconds?: number;
  now?: Date;
}

/**
 * Thrown for a notice that is not from the service, was changed on the way, or has a timestamp too far from now. Also
 * thrown when the secret, a header or the body has the wrong form.
 */
export class WebhookError extends Error {
  override name = 'WebhookError';
  readonly code:
    | 'header_missing'
    | 'header_repeated'
    | 'secret_malformed'
    | 'timestamp_outside_tolerance'
    | 'signature_wrong'
    | 'body_malformed';

  constructor(code: WebhookError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Checks the signature of a notice and parses the notice. The signature is Standard Webhooks' `v1` over
 * `{delivery}.{seconds}.{body}`. The headers X-Service-* and webhook-* carry the same values.
 * @param body the bytes as they arrived, or their text; never a parsed object, which the signature does not cover
 * @param secret `whsec_…` as the API returned it; while a secret is being replaced, both secrets are valid
 * @throws WebhookError
 */
export function verifyNotice(
  body: string | Uint8Array | ArrayBuffer,
  headers: NoticeHeaders,
  secret: string,
  { toleranceSeconds = 300, now = new Date() }: VerifyOptions = {},
): Notice {
  const raw = rawOf(body);
  const deliveryId = headerOf(headers, 'x-service-delivery', 'webhook-id');
  const timestamp = headerOf(headers, 'x-service-timestamp', 'webhook-timestamp');
  const signatures = headerOf(headers, 'x-service-signature', 'webhook-signature');
  const ageSeconds = Math.abs(now.getTime() / 1_000 - Number(timestamp));
  // `ageSeconds` is NaN when the caller's `now` is an invalid date. `!(… <= …)` refuses NaN, but `>` would let it pass.
  if (!/^\d+$/.test(timestamp) || !(ageSeconds <= toleranceSeconds))
    throw new WebhookError('timestamp_outside_tolerance', 'the timestamp is too far from now');
  const expected = createHmac('sha256', keyOf(secret)).update(`${deliveryId}.${timestamp}.`).update(raw).digest();
  if (!signatures.split(' ').some((signature) => isEqual(signature, expected)))
    throw new WebhookError('signature_wrong', 'no signature is of this secret');
  return { deliveryId, payload: parse(raw) };
}

function isEqual(signature: string, expected: Buffer): boolean {
  if (!signature.startsWith('v1,')) return false;
  const given = Buffer.from(signature.slice(3), 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function keyOf(secret: string): Buffer {
  const match = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret);
  if (match === null) throw new WebhookError('secret_malformed', 'a secret is whsec_ and base64');
  return Buffer.from(match[1]!, 'base64');
}

/** Refuses the object that a web framework has parsed from the body, because the signature is over the raw bytes. */
function rawOf(body: unknown): string | Uint8Array {
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new WebhookError(
    'body_malformed',
    'pass the raw body, before JSON.parse: the signature is over its text or bytes as they arrived',
  );
}

/** Reads the first of these headers that is there. */
function headerOf(headers: NoticeHeaders, ...names: readonly string[]): string {
  for (const name of names) {
    const value = headerValue(headers, name);
    // Node's `headersDistinct` and some gateways give every value as a list.
    const [first, ...others] = Array.isArray(value) ? value : [value];
    if (others.length > 0) throw new WebhookError('header_repeated', `the header ${name} is given more than once`);
    if (typeof first === 'string' && first !== '') return first;
  }
  throw new WebhookError('header_missing', `the header ${names[0]} is missing`);
}

/** An object with a method `get` counts as headers, because other libraries have header classes of their own. */
function headerValue(headers: NoticeHeaders, name: string): unknown {
  if (typeof headers.get === 'function') return headers.get(name);
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}

function parse(body: string | Uint8Array): NoticePayload {
  try {
    return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as NoticePayload;
  } catch {
    throw new WebhookError('body_malformed', 'the body is not JSON');
  }
}

/** What changed, by kind of event. The values are the same as in the answer of a look-up. Null stands for no value. */
interface Changes {
  'ruc.estado_cambiado': { campo: 'estado'; antes: string | null; despues: string | null };
  'ruc.condicion_cambiada': { campo: 'condicion'; antes: string | null; despues: string | null };
  'ruc.nombre_cambiado': { campo: 'nombre'; antes: string | null; despues: string | null };
  'ruc.agente_retencion_cambiado': { campo: 'es_agente_retencion'; antes: boolean; despues: boolean };
  'ruc.buen_contribuyente_cambiado': { campo: 'es_buen_contribuyente'; antes: boolean; despues: boolean };
  'ruc.alta': { campo: 'ruc'; antes: null; despues: string };
  'ruc.baja': { campo: 'ruc'; antes: string; despues: null };
}

type ChangeNotice<Kind extends EventKind> = Omit<EventPayload, 'evento' | 'datos'> & {
  evento: Kind;
  datos: Pick<EventPayload['datos'], 'ruc' | 'fecha_dato'> & Changes[Kind];
};

/** A test notice that the webhook's owner requested. It is about no company and no list. */
export interface PingNotice {
  id: string;
  evento: 'ping';
  ocurrido_en: string;
  datos: null;
  watchlist: null;
}

/** The body of a notice. v1 may gain kinds of `evento`, so a receiver should answer an unknown kind with a 2xx. */
export type NoticePayload = { [Kind in EventKind]: ChangeNotice<Kind> }[EventKind] | PingNotice;
