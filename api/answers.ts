import { hash } from 'node:crypto';
import { isCurrent, wholeSecondFrom } from './conditional.ts';
import { type Operation, statusOf } from './operations.ts';
import type { ApiContext } from './request.ts';

/** The values from which the headers ETag and Last-Modified of an answer are made. */
export interface Validators {
  /** Identifies the data behind the answer: the numbers of the editions, or the calendar's version and date. */
  tag: string;
  /** Since when every process gives this answer. Null if that is not known, and then only ETags are compared. */
  modifiedAt: Date | null;
}

/**
 * The JSON answer of a handler. An answer without a tag must not be cached: it belongs to an account or contains a
 * natural person's record.
 */
export interface Answer extends Partial<Validators> {
  data: unknown;
  meta: unknown;
  resumen?: unknown;
}

/**
 * Sends what a handler returned, with the cache headers of its operation.
 * @param answer a string is a stored body, sent byte for byte. Undefined means that the answer is empty (204), or that
 *   the handler has filled the response itself.
 */
export function sendAnswer(context: ApiContext, operation: Operation, answer: Answer | string | undefined): void {
  const status = statusOf(operation);
  if (answer === undefined) {
    if (status !== 204) return;
    context.status = status;
    context.set('Cache-Control', 'no-store');
  } else if (typeof answer === 'string') {
    sendPrivately(context, status, answer);
  } else {
    const { data, meta, resumen, tag, modifiedAt = null } = answer;
    const body = JSON.stringify({ success: true, resumen, data, meta });
    if (tag === undefined || operation.caching === undefined) sendPrivately(context, status, body);
    else if (operation.caching === 'minute')
      sendCached(context, forAMinute, { tag, modifiedAt }, 'application/json', body);
    else sendRevalidated(context, { tag, modifiedAt }, body);
  }
}

/** Returns the body of a successful answer, for a handler that stores the body. */
export function successBody(data: unknown, meta: unknown): string {
  return JSON.stringify({ success: true, data, meta });
}

/** Sends an answer that nobody may keep, because it belongs to an account or contains a natural person's record. */
function sendPrivately(context: ApiContext, status: number, body: string): void {
  context.status = status;
  context.set('Cache-Control', 'no-store');
  context.type = 'application/json';
  context.body = body;
}

/**
 * Sends an answer that a client may keep, but must revalidate before each use. The weak ETag is made from the editions
 * and the body.
 */
function sendRevalidated(context: ApiContext, { tag, modifiedAt }: Validators, body: string): void {
  context.set('Vary', 'Authorization, Accept-Encoding');
  const etag = `${tag}-${hash('sha256', body, 'base64url').slice(0, 22)}`;
  sendCached(context, 'private, no-cache', { tag: etag, modifiedAt }, 'application/json', body);
}

/** Cache-Control of calendar answers. */
export const forAMinute = 'private, max-age=60';

/** Sends the body with a weak ETag and Last-Modified, or 304 when the client's stored answer is still current. */
export function sendCached(
  context: ApiContext,
  cacheControl: string,
  { tag, modifiedAt }: Validators,
  type: string,
  body: string,
): void {
  const etag = `W/"${tag}"`;
  context.set({ 'Cache-Control': cacheControl, ETag: etag });
  const modifiedMs = modifiedAt === null ? null : wholeSecondFrom(modifiedAt);
  // Last-Modified must not be later than the answer's Date (RFC 9110, section 8.8.2.1).
  if (modifiedMs !== null) context.set('Last-Modified', new Date(Math.min(modifiedMs, Date.now())).toUTCString());
  if (isCurrent(context.req.headers, etag, modifiedMs)) {
    context.status = 304;
    return;
  }
  context.status = 200;
  context.type = type;
  context.body = body;
}
