import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Limits } from './limits.ts';
import { failure } from './reply.ts';
import type { QueryRequest } from './request.ts';
import { readStatement, type Statement } from './statement.ts';

/** `data` is the data of an INSERT: first the bytes of `head`, then the rest of the stream. */
export type Incoming = { statement: Statement; text: string; data: { head: Uint8Array; rest: Readable } };

/**
 * Reads the statement of a request. As on a ClickHouse server, the text in the address and the body together are one
 * query text. The data of an INSERT stay in the stream, because they may be far larger than memory.
 * @throws QueryFailure 229 when the text without data is longer than maxQueryBytes
 */
export async function readIncoming(message: IncomingMessage, request: QueryRequest, limits: Limits): Promise<Incoming> {
  const { maxQueryBytes } = limits;
  const body = decompressed(message);
  if (request.query !== '') {
    const statement = attempt(request.query);
    if (statement?.kind === 'insert-data') return withData(statement, Buffer.from(request.query), request.query, body);
  }
  const prefix = request.query === '' ? Buffer.alloc(0) : Buffer.from(`${request.query}\n`);
  const { bytes, complete } = await readUpTo(body, limits);
  if (isForm(message)) {
    readForm(bytes, String(message.headers['content-type']), request);
    return {
      statement: readStatement(request.query),
      text: request.query,
      data: { head: Buffer.alloc(0), rest: body },
    };
  }
  const whole = bytes.length === 0 ? Buffer.from(request.query) : Buffer.concat([prefix, bytes]);
  const text = whole.toString('utf8');
  const statement = readStatement(text);
  if (statement.kind === 'insert-data') return withData(statement, whole, text, body);
  if (!complete) throw failure(229, 'QUERY_IS_TOO_LARGE', `The query is longer than ${maxQueryBytes} bytes`);
  return { statement, text, data: { head: Buffer.alloc(0), rest: body } };
}

function withData(
  statement: Statement & { kind: 'insert-data' },
  bytes: Buffer,
  text: string,
  rest: Readable,
): Incoming {
  const head = bytes.subarray(Buffer.byteLength(text.slice(0, statement.dataStart)));
  return { statement, text, data: { head, rest } };
}

/** The address may hold only the beginning of the statement, so a text that cannot be parsed gives undefined. */
function attempt(text: string): Statement | undefined {
  try {
    return readStatement(text);
  } catch {
    return undefined;
  }
}

function decompressed(message: IncomingMessage): Readable {
  const encoding = String(message.headers['content-encoding'] ?? 'identity');
  const decoders = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress };
  if (encoding === 'identity' || encoding === '') return message;
  const decoder = decoders[encoding as keyof typeof decoders]?.();
  if (decoder === undefined)
    throw failure(89, 'UNKNOWN_COMPRESSION_METHOD', `Unknown compression method of the body: ${encoding.slice(0, 20)}`);
  // `pipe` does not pass errors on. Without these lines the reader would wait for ever after the connection is cut.
  message.once('error', (error) => decoder.destroy(error));
  message.once('aborted', () => decoder.destroy(new Error('The upload was cut')));
  return message.pipe(decoder);
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

const isForm = (message: IncomingMessage) =>
  /^multipart\/form-data/i.test(String(message.headers['content-type'] ?? ''));

/**
 * Reads query and parameters from form fields. Clients use a form when an address would be too long. Refuses files.
 */
function readForm(bytes: Buffer, contentType: string, request: QueryRequest): void {
  const boundary = /boundary="?([^";]+)"?/i.exec(contentType)?.[1];
  if (boundary === undefined) throw failure(36, 'BAD_ARGUMENTS', 'The form has no boundary');
  const parts = bytes.toString('utf8').split(`--${boundary}`).slice(1, -1);
  for (const part of parts) {
    const split = part.indexOf('\r\n\r\n');
    const name = /;\s*name="([^"]*)"/i.exec(part.slice(0, split))?.[1] ?? '';
    if (split < 0 || /;\s*filename=/i.test(part.slice(0, split)))
      throw failure(48, 'NOT_IMPLEMENTED', 'External tables are not supported by the embedded server');
    const value = part.slice(split + 4, -2);
    if (name === 'query') request.query = value;
    else if (name.startsWith('param_')) request.parameters[name.slice('param_'.length)] = value;
  }
}

/**
 * Yields the body's pieces. When the reader stops early, the body stays open, so that the client still gets an answer.
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

/** Reads the rest of a refused upload: a client whose connection is reset during the upload never reads the answer. */
export async function readToNowhere(message: IncomingMessage, timeoutMs: number): Promise<void> {
  if (message.complete || message.destroyed) return;
  message.unpipe();
  const ended = new Promise<void>((resolve) => {
    message.once('end', resolve);
    message.once('close', resolve);
  });
  message.on('error', () => undefined);
  message.resume();
  await Promise.race([ended, sleep(timeoutMs, undefined, { ref: false })]);
}
