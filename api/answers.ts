import { hash } from 'node:crypto';
import type { ApiContext } from './request.ts';

/** An answer that may not be kept anywhere: what belongs to an account, and every natural person's record. */
export function answerPrivately(context: ApiContext, status: number, data: unknown, meta: unknown): void {
  answerBytes(context, status, successBody(data, meta));
}

/** 204: it is done, and there is nothing to show. */
export function answerNothing(context: ApiContext): void {
  context.status = 204;
  context.set('Cache-Control', 'no-store');
}

export function successBody(data: unknown, meta: unknown): string {
  return JSON.stringify({ success: true, data, meta });
}

/** As `answerPrivately`, with a body that is kept: what is given again later must be the same to the byte. */
export function answerBytes(context: ApiContext, status: number, body: string): void {
  context.status = status;
  context.set('Cache-Control', 'no-store');
  context.type = 'application/json';
  context.body = body;
}

/** The editions that an answer was made from. */
export interface AnswerSources {
  meta: unknown;
  /** Their numbers. */
  tag: string;
  lastModified: string;
}

/**
 * An answer that a client may keep if it asks again each time: a weak ETag over editions and body, and 304 when the client
 * already has it. If-Modified-Since alone is not answered with 304: a correction keeps its edition's date.
 */
export function answerRevalidated(context: ApiContext, sources: AnswerSources, data: unknown): void {
  const body = JSON.stringify({ success: true, data, meta: sources.meta });
  const etag = `W/"${sources.tag}-${hash('sha256', body, 'base64url').slice(0, 22)}"`;
  context.set({
    'Cache-Control': 'private, no-cache',
    Vary: 'Authorization, Accept-Encoding',
    'Last-Modified': sources.lastModified,
  });
  answerTagged(context, etag, 'application/json', body);
}

/** A public answer that a client may keep for a minute: the calendar's, which `version` and the date in Lima determine. */
export function answerForAMinute(context: ApiContext, tag: string, type: string, body: string): void {
  context.set('Cache-Control', 'private, max-age=60');
  answerTagged(context, `W/"${tag}"`, type, body);
}

/** What anybody may read and keep: the documentation. */
export function answerPublicly(context: ApiContext, tag: string, type: string, body: string): void {
  context.set('Cache-Control', 'public, max-age=300');
  answerTagged(context, `W/"${tag}"`, type, body);
}

function answerTagged(context: ApiContext, etag: string, type: string, body: string): void {
  context.set('ETag', etag);
  if (isMatch(context.req.headers['if-none-match'], etag)) {
    context.status = 304;
    return;
  }
  context.status = 200;
  context.type = type;
  context.body = body;
}

/** Weak comparison over the list of the header (RFC 9110, section 13.1.2). */
function isMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const opaque = etag.slice(2);
  return header.split(',').some((each) => {
    const tag = each.trim();
    return tag === '*' || tag === opaque || tag === etag;
  });
}
