import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Limits } from './limits.ts';
import { failure } from './reply.ts';
import type { QueryRequest } from './request.ts';
import { readStatement, type Statement } from './statement.ts';

/** `data` is what the caller sent for an INSERT: first these bytes, then the rest of the stream. */
export type Incoming = { statement: Statement; text: string; data: { head: Uint8Array; rest: Readable } };

/**
 * The statement of a request. As on a server the address's text and the body are one query text; the data of an INSERT are not
 * read here, however long they are.
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

/** A text in the address may be only the beginning of the statement. */
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
  // A cut connection must reach the reader as an error: a plain pipe would leave it waiting.
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

/** Query and parameters as form fields, which clients use when they are too long for an address. No files. */
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

/** The body's pieces. Leaving early does not destroy the body: its caller may still have to be told why. */
export async function* chunksOf(body: Readable, idleTimeoutMs: number): AsyncGenerator<Buffer> {
  const giveUp = () =>
    body.destroy(failure(209, 'SOCKET_TIMEOUT', `Nothing of the body has come for ${idleTimeoutMs} ms`));
  let timer = setTimeout(giveUp, idleTimeoutMs);
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      clearTimeout(timer);
      yield chunk as Buffer;
      // Only while we wait for the caller, not while it waits for our disk.
      timer = setTimeout(giveUp, idleTimeoutMs);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Reads what is left of a refused upload: a caller reads the answer only if the connection is not reset under it. */
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
