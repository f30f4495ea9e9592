import { hash } from 'node:crypto';
import { type Operation, statusOf } from './operations.ts';
import type { ApiContext } from './request.ts';

/** What a client revalidates an answer with. */
export interface Validators {
  /** Names the data that the answer was made from: the numbers of its editions, or the calendar's version and date. */
  tag: string;
  lastModified: string;
}

/** The JSON answer of a handler. Without a tag nobody may keep it: it holds a natural person's record. */
export interface Answer extends Partial<Validators> {
  data: unknown;
  meta: unknown;
  resumen?: unknown;
}

/**
 * Sends what a handler returned, with the caching of its operation. A string is a stored body, which must be sent again
 * byte for byte. Undefined: the operation has an empty answer, or its handler has filled the response itself.
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

/** The body of a success, for a handler that stores it. */
export function successBody(data: unknown, meta: unknown): string {
  return JSON.stringify({ success: true, data, meta });
}

/** Nobody may keep the answer: it belongs to an account or holds a natural person's record. */
function sendPrivately(context: ApiContext, status: number, body: string): void {
  context.status = status;
  context.set('Cache-Control', 'no-store');
  context.type = 'application/json';
  context.body = body;
}

/**
 * A client may keep the answer if it revalidates each time: a weak ETag over editions and body, and 304 when it is
 * current. If-Modified-Since alone gives no 304, since a correction keeps its edition's date.
 */
function sendRevalidated(context: ApiContext, tag: string, lastModified: string, body: string): void {
  context.set({ Vary: 'Authorization, Accept-Encoding', 'Last-Modified': lastModified });
  const etag = `${tag}-${hash('sha256', body, 'base64url').slice(0, 22)}`;
  sendCached(context, 'private, no-cache', etag, 'application/json', body);
}

/** The calendar's Cache-Control. */
export const forAMinute = 'private, max-age=60';

/** Sends the body with a weak ETag, or 304 to a client that has it. */
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

/** Weak comparison over the header's list (RFC 9110, section 13.1.2). */
function isMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const opaque = etag.slice(2);
  return header.split(',').some((each) => {
    const tag = each.trim();
    return tag === '*' || tag === opaque || tag === etag;
  });
}
