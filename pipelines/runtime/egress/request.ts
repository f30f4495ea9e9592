import type { IncomingHttpHeaders } from 'node:http';
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { type Dispatcher, request } from 'undici';
import { EgressRefused, type NetworkFailure, networkFailure } from './failure.ts';
import type { EgressPolicy } from './policy.ts';
import { checkTargetUrl } from './target.ts';

/** The error of an outbound request that got no answer. Its message holds only the failure's class. */
export class EgressFailed extends Error {
  override name = 'EgressFailed';
  readonly code = 'egress_failed';
  readonly failure: NetworkFailure;
  /**
   * Whether the same request may succeed later. False when our own checks refused the request. Exception: a name that
   * was not resolved may be resolved later.
   */
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
  /** The caller must read the body to its end or destroy it. Otherwise the body's socket is lost. */
  body: Readable;
}

/**
 * Checks the URL and sends a request, for downloads. The caller gets the answer's body as a stream. A redirect is
 * returned as an answer and never followed. The dispatcher's limits and `signal` limit the time.
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
    // A body that is destroyed early emits an error. Without this listener, the error would end the process.
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
 * Reads at most `maxBytes` of a body, counted after decompression. Then destroys the rest and the body's socket. Never
 * rejects: when the body breaks off, returns the bytes that came before.
 */
export async function readCapped(
  source: Readable,
  contentEncoding: string | string[] | undefined,
  maxBytes: number,
): Promise<CappedBody> {
  const decoder = decoderOf(contentEncoding);
  const stream = decoder === null ? source : source.pipe(decoder);
  // pipe() does not forward errors. Without this line, a broken connection would leave the decoder waiting for ever.
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
  // Leaving the loop destroys only `stream`, which may be the decoder. The source holds the socket, so destroy it too.
  source.on('error', () => {});
  if (!source.destroyed && !source.readableEnded) source.destroy();
  return { body: Buffer.concat(pieces), problem };
}

/** Whether `readCapped` decompresses a body with this encoding. It reads any other body as it comes. */
export function isCompressed(contentEncoding: string | string[] | undefined): boolean {
  return decoders.has(nameOf(contentEncoding));
}

function decoderOf(contentEncoding: string | string[] | undefined): Transform | null {
  return decoders.get(nameOf(contentEncoding))?.() ?? null;
}

function nameOf(contentEncoding: string | string[] | undefined): string {
  return String(contentEncoding ?? '')
    .trim()
    .toLowerCase();
}

// With small chunks, a decompression bomb is stopped soon after it exceeds the limit.
const options = { chunkSize: 16_384 };

const decoders: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', () => createGunzip(options)],
  ['x-gzip', () => createGunzip(options)],
  ['deflate', () => createInflate(options)],
  ['br', () => createBrotliDecompress(options)],
]);
