import { hash } from 'node:crypto';
import { type Operation, statusOf } from './operations.ts';
import type { ApiContext } from './request.ts';

/** The values from which the headers ETag and Last-Modified of an answer are made. */
export interface Validators {
  /** Identifies the data behind the answer: the numbers of the editions, or the calendar's version and date. */
  tag: string;
  lastModified: string;
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
 * @param answer a string is a stored body and is sent byte for byte. Undefined means that the operation has an empty
 *   answer, or that the handler has filled the response itself.
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
    const { data, meta, resumen, tag, lastModified } = answer;
    const body = JSON.stringify({ success: true, resumen, data, meta });
    if (tag === undefined || operation.caching === undefined) sendPrivately(context, status, body);
    else if (operation.caching === 'minute') sendCached(context, forAMinute, tag, 'application/json', body);
    else sendRevalidated(context, tag, lastModified!, body);
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
 * and the body. A client that sends the current ETag gets 304. If-Modified-Since alone never gives 304, because a
 * correction changes an edition's data but not its date.
 */
function sendRevalidated(context: ApiContext, tag: string, lastModified: string, body: string): void {
  context.set({ Vary: 'Authorization, Accept-Encoding', 'Last-Modified': lastModified });
  const etag = `${tag}-${hash('sha256', body, 'base64url').slice(0, 22)}`;
  sendCached(context, 'private, no-cache', etag, 'application/json', body);
}

/** Cache-Control of calendar answers. */
export const forAMinute = 'private, max-age=60';

/** Sends the body with a weak ETag, or 304 when the client already has this ETag. */
export function sendCached(context: ApiContext, cacheControl: string, tag: string, type: string, body: string): void {
  const etag = `W/"${tag}"`;
  context.set({ 'Cache-Control': cacheControl, ETag: etag });
  if (isMatch(context.req.headers['if-none-match'], etag)) {
    context.status = 304;
    return;
  }
  context.status = 200;
  context.type = type;
  context.body = body;
}

/** Whether If-None-Match is `*` or lists the ETag, by weak comparison (RFC 9110, section 13.1.2). */
function isMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const opaque = etag.slice(2);
  return header.split(',').some((each) => {
    const tag = each.trim();
    return tag === '*' || tag === opaque || tag === etag;
  });
}
