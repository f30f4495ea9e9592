import type { IncomingHttpHeaders } from 'node:http';
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
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

export interface CappedBody {
  body: Buffer;
  problem: 'cut' | 'broken' | null;
}

/**
 * Reads at most `maxBytes` of a body, counted after decompression, then drops the rest together with its socket. Never
 * rejects: a body that breaks off gives what came before.
 */
export async function readCapped(
  source: Readable,
  contentEncoding: string | string[] | undefined,
  maxBytes: number,
): Promise<CappedBody> {
  const decoder = decoderOf(contentEncoding);
  const stream = decoder === null ? source : source.pipe(decoder);
  // pipe() forwards no failure; without this a connection that breaks would leave the decoder waiting for ever.
  if (decoder !== null) source.once('error', (error) => decoder.destroy(error));
  const pieces: Buffer[] = [];
  let room = maxBytes;
  let problem: CappedBody['problem'] = null;
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      if (piece.length > room) {
        pieces.push(piece.subarray(0, room));
        problem = 'cut';
        break;
      }
      pieces.push(piece);
      room -= piece.length;
    }
  } catch {
    problem = 'broken';
  }
  // Leaving the loop destroys only the stream that was iterated; the socket hangs on the source.
  source.on('error', () => {});
  if (!source.destroyed && !source.readableEnded) source.destroy();
  return { body: Buffer.concat(pieces), problem };
}

function decoderOf(contentEncoding: string | string[] | undefined): Transform | null {
  // Small chunks, so that a bomb is stopped near the cap and not after one large piece.
  const options = { chunkSize: 16_384 };
  switch (
    String(contentEncoding ?? '')
      .trim()
      .toLowerCase()
  ) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(options);
    case 'deflate':
      return createInflate(options);
    case 'br':
      return createBrotliDecompress(options);
    default:
      return null;
  }
}

export interface ExchangeLimits {
  /** The whole exchange: connect, request, headers and body. */
  exchangeTimeoutMs: number;
  /** Of the answer's body, counted after decompression. */
  maxBodyBytes: number;
}

export type ExchangeResult =
  | {
      answered: true;
      status: number;
      headers: IncomingHttpHeaders;
      body: Buffer;
      /** What kept the body from being read whole, if anything. It never changes the status that was received. */
      bodyProblem: 'cut' | 'timeout' | 'broken' | null;
    }
  | { answered: false; failure: NetworkFailure };

/**
 * One whole request and answer through the guard, for webhooks: never throws for anything that the other side does. Once
 * the headers are here the status stands, whatever becomes of the body: endless, slow, broken and oversized bodies are cut.
 */
export async function exchange(
  dispatcher: Dispatcher,
  message: { url: URL; method: 'POST'; headers: Record<string, string>; body: Buffer },
  limits: ExchangeLimits,
): Promise<ExchangeResult> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), limits.exchangeTimeoutMs);
  const { signal } = deadline;
  try {
    const answer = await request(message.url, {
      dispatcher,
      method: message.method,
      headers: message.headers,
      body: message.body,
      signal,
    });
    const { body, problem } = await readCapped(answer.body, answer.headers['content-encoding'], limits.maxBodyBytes);
    const bodyProblem = problem === 'broken' && signal.aborted ? 'timeout' : problem;
    return { answered: true, status: answer.statusCode, headers: answer.headers, body, bodyProblem };
  } catch (error) {
    return { answered: false, failure: signal.aborted ? 'timeout' : networkFailure(error) };
  } finally {
    clearTimeout(timer);
  }
}
