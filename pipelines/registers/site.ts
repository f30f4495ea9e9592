import type { Dispatcher } from 'undici';
import type { EgressPolicy } from '../runtime/egress/policy.ts';
import { EgressFailed, type GuardedAnswer, guardedRequest, readCapped } from '../runtime/egress/request.ts';

/** The headers that distinguish one version of a site's file from another, as the site writes them. */
export interface Validators {
  etag: string | null;
  lastModified: string | null;
}

type SourceErrorCode = 'source_unavailable' | 'source_refused' | 'declared_too_large' | 'disk_full' | 'cancelled';

/** The error of a request or download that failed. `retryable` says whether the same request may succeed later. */
export class SourceError extends Error {
  override name = 'SourceError';
  readonly code: SourceErrorCode;
  readonly retryable: boolean;

  constructor(code: SourceErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.retryable = code !== 'source_refused' && code !== 'declared_too_large';
  }
}

export interface SiteAccess {
  dispatcher: Dispatcher;
  policy: EgressPolicy;
  userAgent: string;
}

/** A site usually redirects at most twice: from http to https, and to a mirror. */
const maxRedirects = 3;

/**
 * Sends a request and follows at most `maxRedirects` redirects. The egress guard (runtime/egress) checks each address.
 * @throws SourceError `source_unavailable` when there is no answer or there are too many redirects
 * @throws SourceError `source_refused` when the guard refuses an address; `cancelled` when the signal has aborted
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
    drop(answer);
    if (redirects === maxRedirects) {
      throw new SourceError('source_unavailable', `the site redirects more than ${maxRedirects} times`);
    }
    url = new URL(location, url).href;
  }
}

async function ask(access: SiteAccess, request: Parameters<typeof guardedRequest>[2]): Promise<GuardedAnswer> {
  try {
    return await guardedRequest(access.dispatcher, access.policy, {
      ...request,
      // Ask the site not to compress its answer. Otherwise the hash and the resume position of a download would not
      // belong to the bytes that the site stores.
      headers: { 'accept-encoding': 'identity', 'user-agent': access.userAgent, ...request.headers },
    });
  } catch (error) {
    if (request.signal?.aborted) throw cancelled();
    if (!(error instanceof EgressFailed)) throw error;
    const code = error.retryable ? 'source_unavailable' : 'source_refused';
    throw new SourceError(code, `the site gave no answer: ${error.failure}`, error);
  }
}

export function cancelled(): SourceError {
  return new SourceError('cancelled', 'the download was cancelled');
}

/** The error for an answer that is not usable. Some sites answer 403 or 418 to a user agent that they refuse. */
export function unexpectedAnswer(status: number): SourceError {
  const hint = status === 403 || status === 418 ? ': it may refuse SOURCE_USER_AGENT' : '';
  return new SourceError('source_unavailable', `the site answered ${status}${hint}`);
}

export function validatorsOf(headers: GuardedAnswer['headers']): Validators {
  return { etag: headers.etag ?? null, lastModified: headers['last-modified'] ?? null };
}

/** Compares the ETags if both answers have one. Otherwise both must have the same Last-Modified time. */
export function sameVersion(one: Validators, other: Validators): boolean {
  if (one.etag !== null && other.etag !== null) return one.etag === other.etag;
  return one.lastModified !== null && one.lastModified === other.lastModified;
}

export function drop(answer: GuardedAnswer): void {
  answer.body.on('error', () => {}).destroy();
}

export type ProbeResult =
  | { found: 'unchanged' }
  | { found: 'version'; validators: Validators; isPage: boolean }
  /** The site answered 404 or 410: it publishes nothing at this address. */
  | { found: 'absent' };

/**
 * Asks by a conditional HEAD which version of a file the site has now. If the site refuses HEAD, a conditional GET
 * follows, and its body is dropped. `isPage` is true when the content type is HTML, as in some error pages.
 * @throws SourceError the errors of `askSite`, and a retryable one when the status is not 200, 304, 404 or 410
 */
export async function probeSite(
  access: SiteAccess,
  url: string,
  known: Validators | null,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const headers: Record<string, string> = {};
  if (known?.etag != null) headers['if-none-match'] = known.etag;
  if (known?.lastModified != null) headers['if-modified-since'] = known.lastModified;
  let answer = await askSite(access, { url, method: 'HEAD', headers, signal });
  if ([400, 403, 404, 405, 501].includes(answer.status)) {
    drop(answer);
    answer = await askSite(access, { url, method: 'GET', headers, signal });
  }
  drop(answer);
  if (answer.status === 304) {
    // The site still has the bytes with our ETag. If their `Last-Modified` is not the one that we know, the site has
    // published the same bytes again, which counts as another version.
    const { lastModified } = validatorsOf(answer.headers);
    if (known?.etag == null || lastModified === null || lastModified === known.lastModified)
      return { found: 'unchanged' };
    return { found: 'version', validators: { etag: known.etag, lastModified }, isPage: false };
  }
  if (answer.status === 404 || answer.status === 410) return { found: 'absent' };
  if (answer.status !== 200) throw unexpectedAnswer(answer.status);
  const isPage = /^text\/html\b/i.test(String(answer.headers['content-type'] ?? ''));
  return { found: 'version', validators: validatorsOf(answer.headers), isPage };
}

/**
 * Returns a small page of the site as text, or null when the site answers 404 or 410. The bytes are read as Latin-1,
 * also if the page is UTF-8. Only letters with accents then become wrong, and the words that we look for have none.
 * @throws SourceError retryable, when the site gives another error status or no answer
 */
export async function readPage(
  access: SiteAccess,
  url: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string | null> {
  const answer = await askSite(access, { url, method: 'GET', headers: {}, signal });
  if (answer.status !== 200) {
    drop(answer);
    if (answer.status === 404 || answer.status === 410) return null;
    throw unexpectedAnswer(answer.status);
  }
  const { body, problem } = await readCapped(answer.body, answer.headers['content-encoding'], maxBytes);
  if (problem === 'broken') {
    throw new SourceError('source_unavailable', 'the connection was lost while its page was read');
  }
  return body.toString('latin1');
}
