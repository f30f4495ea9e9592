import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { type Dispatcher, request } from 'undici';
import { EgressRefused, type NetworkFailure, networkFailure } from './failure.ts';
import type { EgressPolicy } from './policy.ts';
import { checkTargetUrl } from './target.ts';

/** An outbound request that got no answer. The message holds the class and nothing else. */
export class EgressFailed extends Error {
  override name = 'EgressFailed';
  readonly code = 'egress_failed';
  readonly failure: NetworkFailure;
  /** Whether the same request may succeed later: not when the guard or a certificate refused it. */
  readonly retryable: boolean;

  constructor(failure: NetworkFailure, cause?: unknown) {
    super(`outbound request failed: ${failure}`, { cause });
    this.failure = failure;
    this.retryable = !(cause instanceof EgressRefused && cause.problem !== 'name_not_resolved');
  }
}

export interface GuardedAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Must be read to its end or destroyed; otherwise its socket is lost. */
  body: Readable;
}

/**
 * A request through the guard whose body the caller streams: for downloads. Redirects are given to the caller as they
 * are (a 3xx with its Location), never followed. Time limits are the dispatcher's and `signal`.
 * @throws EgressFailed
 */
export async function guardedRequest(
  dispatcher: Dispatcher,
  policy: EgressPolicy,
  options: { url: string; method: 'GET' | 'HEAD'; headers?: Record<string, string>; signal?: AbortSignal },
): Promise<GuardedAnswer> {
  const target = checkTargetUrl(options.url, policy);
  if (!target.ok) throw new EgressFailed(target.problem, new EgressRefused(target.problem));
  try {
    const answer = await request(target.url, {
      dispatcher,
      method: options.method,
      headers: options.headers ?? {},
      signal: options.signal ?? null,
    });
    // Destroying a body early emits an error; without a listener that would end the process. Readers have their own.
    answer.body.on('error', () => {});
    return { status: answer.statusCode, headers: answer.headers, body: answer.body };
  } catch (error) {
    throw new EgressFailed(networkFailure(error), error);
  }
}
