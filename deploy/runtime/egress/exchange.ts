import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, request } from 'undici';
import { readCapped } from './body.ts';
import { type NetworkFailure, networkFailure } from './failure.ts';

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
