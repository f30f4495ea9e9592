import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Limits } from './limits.ts';
import { failure } from './reply.ts';
import { readStatement, type Statement } from './statement.ts';

/** A statement. The data of an INSERT are the bytes of `head` followed by the bytes of the stream `rest`. */
export type Incoming = { statement: Statement; head: Uint8Array; rest: Readable };

/**
 * Reads the statement of a request: its text begins in the URL and continues in the body. The data of an INSERT stay in
 * the stream, because they may be far larger than memory.
 * @param query the URL's part of the query text
 * @throws QueryFailure 229 when the query text, without data, is longer than maxQueryBytes; 89 for a compressed body
 */
export async function readIncoming(message: IncomingMessage, query: string, limits: Limits): Promise<Incoming> {
  const encoding = message.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw failure(89, 'UNKNOWN_COMPRESSION_METHOD', `Unknown compression method of the body: ${encoding.slice(0, 20)}`);
  const statementOfAddress = attempt(query);
  if (statementOfAddress?.kind === 'insert-data')
    return withData(statementOfAddress, Buffer.from(query), query, message);
  const { bytes, complete } = await readUpTo(message, limits);
  const whole = Buffer.concat([Buffer.from(query === '' ? '' : `${query}\n`), bytes]);
  const text = whole.toString('utf8');
  const statement = readStatement(text);
  if (statement.kind === 'insert-data') return withData(statement, whole, text, message);
  if (!complete) throw failure(229, 'QUERY_IS_TOO_LARGE', `The query is longer than ${limits.maxQueryBytes} bytes`);
  return { statement, head: Buffer.alloc(0), rest: message };
}

function withData(
  statement: Statement & { kind: 'insert-data' },
  bytes: Buffer,
  text: string,
  rest: Readable,
): Incoming {
  return { statement, head: bytes.subarray(Buffer.byteLength(text.slice(0, statement.dataStart))), rest };
}

/** Returns undefined when the text cannot be parsed, because the URL may hold only the beginning of the statement. */
function attempt(text: string): Statement | undefined {
  try {
    return readStatement(text);
  } catch {
    return undefined;
  }
}

async function readUpTo(body: Readable, limits: Limits): Promise<{ bytes: Buffer; complete: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunksOf(body, limits.uploadIdleTimeoutMs)) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > limits.maxQueryBytes) return { bytes: Buffer.concat(chunks), complete: false };
  }
  return { bytes: Buffer.concat(chunks), complete: true };
}

/**
 * Yields the body's pieces. When the caller stops early, the body stays open, so that the client still gets an answer.
 */
export async function* chunksOf(body: Readable, idleTimeoutMs: number): AsyncGenerator<Buffer> {
  const giveUp = () =>
    body.destroy(failure(209, 'SOCKET_TIMEOUT', `Nothing of the body has come for ${idleTimeoutMs} ms`));
  let timer = setTimeout(giveUp, idleTimeoutMs);
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      clearTimeout(timer);
      yield chunk as Buffer;
      // The timer runs only while this process waits for the client. Time that the disk takes does not count.
      timer = setTimeout(giveUp, idleTimeoutMs);
    }
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reads and drops the rest of a refused upload, so that the client can read the answer. If the connection were closed
 * before the client has sent everything, the client would get a reset instead of the answer.
 */
export async function readToNowhere(message: IncomingMessage, timeoutMs: number): Promise<void> {
  if (message.complete || message.destroyed) return;
  const ended = new Promise<void>((resolve) => {
    message.once('end', resolve);
    message.once('close', resolve);
  });
  message.on('error', () => undefined);
  message.resume();
  await Promise.race([ended, sleep(timeoutMs, undefined, { ref: false })]);
}
