import { setTimeout as delay } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { EgressPolicy } from '../runtime/egress/policy.ts';
import { EgressFailed, type GuardedAnswer, guardedRequest } from '../runtime/egress/request.ts';

/** What tells one version of a file on a site from another, as the site writes it. */
export interface Validators {
  etag: string | null;
  lastModified: string | null;
}

export type SourceErrorCode =
  | 'source_unavailable'
  | 'source_refused'
  | 'declared_too_large'
  | 'disk_full'
  | 'cancelled';

/** The official site, or the way to it, failed. `retryable` says whether the same request may succeed later. */
export class SourceError extends Error {
  override name = 'SourceError';
  readonly code: SourceErrorCode;
  readonly retryable: boolean;

  constructor(code: SourceErrorCode, message: string, options: { retryable: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable;
  }
}

/** The way to the official sites, made once per process. */
export interface SiteAccess {
  dispatcher: Dispatcher;
  policy: EgressPolicy;
  userAgent: string;
}

/** One hop from http to https and one to a mirror are usual. */
const maxRedirects = 3;

/**
 * A request that follows a few redirects by itself, each one checked by the guard again.
 * @throws SourceError `source_unavailable` (no answer), `source_refused` (the guard says no)
 */
export async function askSite(
  access: SiteAccess,
  request: { url: string; method: 'GET' | 'HEAD'; headers: Record<string, string>; signal: AbortSignal },
): Promise<GuardedAnswer> {
  let url = request.url;
  for (let redirects = 0; ; redirects += 1) {
    const answer = await ask(access, { ...request, url });
    const location = answer.headers.location;
    if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return answer;
    answer.body.on('error', () => {}).destroy();
    if (redirects === maxRedirects) {
      throw new SourceError('source_unavailable', `the site redirects more than ${maxRedirects} times`, {
        retryable: true,
      });
    }
    url = new URL(location, url).href;
  }
}

async function ask(access: SiteAccess, request: Parameters<typeof guardedRequest>[2]): Promise<GuardedAnswer> {
  try {
    return await guardedRequest(access.dispatcher, access.policy, {
      ...request,
      // The bytes are hashed and resumed as the site keeps them: no coding on the way.
      headers: { 'accept-encoding': 'identity', 'user-agent': access.userAgent, ...request.headers },
    });
  } catch (error) {
    if (request.signal?.aborted) throw cancelled();
    if (!(error instanceof EgressFailed)) throw error;
    const code = error.retryable ? 'source_unavailable' : 'source_refused';
    throw new SourceError(code, `the site gave no answer: ${error.failure}`, {
      retryable: error.retryable,
      cause: error,
    });
  }
}

export function cancelled(): SourceError {
  return new SourceError('cancelled', 'the download was cancelled', { retryable: true });
}

/** No answer to go on with. Some sites answer 403 or 418 to a user agent that they do not like. */
export function unexpectedAnswer(status: number): SourceError {
  const hint = status === 403 || status === 418 ? ': it may refuse SOURCE_USER_AGENT' : '';
  return new SourceError('source_unavailable', `the site answered ${status}${hint}`, { retryable: true });
}

/** @throws SourceError `cancelled` */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {
    throw cancelled();
  });
}

export function validatorsOf(headers: GuardedAnswer['headers']): Validators {
  const lastModified = headers['last-modified'];
  return { etag: headers.etag ?? null, lastModified: lastModified ?? null };
}

/** Whether both name the same version: by the entity tag where both have one, else by the time. No validator, no answer. */
export function sameVersion(one: Validators, other: Validators): boolean {
  if (one.etag !== null && other.etag !== null) return one.etag === other.etag;
  return one.lastModified !== null && one.lastModified === other.lastModified;
}

export function drop(answer: GuardedAnswer): void {
  answer.body.on('error', () => {}).destroy();
}
