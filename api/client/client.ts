import type { z } from 'zod';
import type { EditionChange } from '../../schemas/http/editions.ts';
import type { ProblemCode, ProblemDocument } from '../../schemas/http/problem.ts';
import { type Operation, type OperationName, type Operations, operations, type ParameterOf } from '../operations.ts';
import { changesOf } from './edition-changes.ts';
import { eventsOf, type StreamedEvent } from './event-stream.ts';

export type { EditionChange } from '../../schemas/http/editions.ts';
export type { StreamedEvent } from './event-stream.ts';
export { type Notice, type NoticeHeaders, type NoticePayload, verifyNotice, WebhookError } from './webhooks.ts';

export interface ClientOptions {
  /** The API's address: everything before /id/v1. */
  baseUrl: string;
  token: string;
  /** Longest time of a whole call, or until an event stream begins; 30 s if omitted. */
  timeoutMs?: number;
  fetch?: typeof globalThis.fetch;
}

/** Thrown when the API answers with a problem. `message` is its Spanish detail. Programs should branch on `code`. */
export class PadronError extends Error {
  override name = 'PadronError';
  readonly code: ProblemCode;
  readonly status: number;
  readonly problem: ProblemDocument;
  /** Seconds after which a repeat of the call may help, from the answer's Retry-After. Null: it has no such header. */
  readonly retryAfterSeconds: number | null;

  constructor(problem: ProblemDocument, retryAfterSeconds: number | null) {
    super(problem.detail);
    this.code = problem.code;
    this.status = problem.status;
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

type Input = Record<string, unknown>;

/**
 * Makes a client with one method per operation. The client does not check answers against their types, because v1 may
 * gain fields. The client never repeats a call, but goes on with a file of changes whose connection broke. A caller may
 * repeat a batch that has an `idempotencyKey`.
 */
export function makeClient(options: ClientOptions): PadronClient {
  const methods = Object.entries<Operation>(operations).map(([name, operation]) => [
    name,
    (input: Input = {}, call: CallOptions = {}) => ask(operation, input, call, options),
  ]);
  return Object.fromEntries(methods) as PadronClient;
}

function ask(operation: Operation, input: Input, call: CallOptions, options: ClientOptions): Promise<unknown> {
  const again = (headers: Record<string, string>) =>
    send(operation, { ...input, headers }, call, options, (response) => response);
  return send<unknown>(operation, input, call, options, (response) => {
    // A stream has no end, so it is handed over before its first event, and from there on the deadline does not cut it.
    if (operation.textType === 'text/event-stream') return eventsOf(response.body!);
    if (operation.fileTypes !== undefined) return changesOf(response, again, call.signal);
    if (operation.textType !== undefined) return response.text();
    return response.status === 204 ? undefined : response.json();
  });
}

/** Sends the request and resolves with what `read` makes of a good answer. The deadline covers both. */
async function send<Result>(
  operation: Operation,
  input: Input,
  { signal }: CallOptions,
  options: ClientOptions,
  read: (response: Response) => Result | Promise<Result>,
): Promise<Result> {
  const { baseUrl, token, timeoutMs = 30_000, fetch = globalThis.fetch } = options;
  const deadline = new AbortController();
  const expire = () => deadline.abort(new DOMException(`no answer in ${timeoutMs} ms`, 'TimeoutError'));
  const timer = setTimeout(expire, timeoutMs);
  const [fileType] = operation.fileTypes ?? [];
  const { body, idempotencyKey, lastEventId, headers, ...parameters } = input;
  try {
    const response = await fetch(`${baseUrl.replace(/\/+$/, '')}${addressOf(operation, parameters)}`, {
      method: operation.method.toUpperCase(),
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': String(idempotencyKey) }),
        ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
        // Ranges count bytes of the file itself.
        ...(fileType === undefined ? {} : { accept: fileType, 'accept-encoding': 'identity' }),
        ...(headers as Record<string, string> | undefined),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: signal === undefined ? deadline.signal : AbortSignal.any([signal, deadline.signal]),
    });
    if (!response.ok) throw await errorOf(response);
    return await read(response);
  } finally {
    clearTimeout(timer);
  }
}

function addressOf({ path }: Operation, parameters: Input): string {
  const query = new URLSearchParams();
  const rest = new Map(Object.entries(parameters).filter(([, value]) => value !== undefined));
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest.get(name);
    if (value === undefined || value === '') throw new TypeError(`${name} is missing`);
    rest.delete(name);
    return encodeURIComponent(String(value));
  });
  for (const [name, value] of rest) query.set(name, String(value));
  return query.size === 0 ? filled : `${filled}?${query}`;
}

/** Makes the error of a failed call. An answer that is not a problem document is from a proxy in front of the API. */
async function errorOf(response: Response): Promise<Error> {
  const { status, headers } = response;
  if (!headers.get('content-type')?.startsWith('application/problem+json'))
    return new Error(`the answer, of status ${status}, is not the API's`);
  const retryAfter = headers.get('retry-after');
  return new PadronError((await response.json()) as ProblemDocument, retryAfter === null ? null : Number(retryAfter));
}

/** Turns an intersection of types into one object type, so that editors show its fields. */
type Simplified<Type> = { [Key in keyof Type]: Type[Key] } & {};

/** The type that a caller may pass for a query value. The client writes numbers and booleans as text in the query. */
type Written<Value> =
  string extends NonNullable<Value> ? Value | number : 'true' extends NonNullable<Value> ? Value | boolean : Value;
type WrittenAll<Query> = { [Key in keyof Query]: Written<Query[Key]> };

type Of<Name extends OperationName> = Operations[Name];
type PathOf<O extends Operation> = { [Parameter in ParameterOf<O['path']>]: string };
type QueryOf<O> = O extends { query: infer Schema extends z.ZodType } ? WrittenAll<z.input<Schema>> : unknown;
type BodyOf<O> = O extends { body: infer Schema extends z.ZodType }
  ? O extends { isBodyOptional: true }
    ? { body?: z.input<Schema> }
    : { body: z.input<Schema> }
  : unknown;
type HeadersOf<O> = O extends { textType: 'text/event-stream' }
  ? { lastEventId?: string }
  : O extends { fileTypes: readonly string[] }
    ? unknown
    : O extends { headers: z.ZodType }
      ? { idempotencyKey?: string }
      : unknown;

/**
 * The input of a method: the parameters of path and query by name, `body`, `idempotencyKey`, and `lastEventId` (the id
 * after which a stream of events continues).
 */
export type InputOf<Name extends OperationName> = Simplified<
  PathOf<Of<Name>> & QueryOf<Of<Name>> & BodyOf<Of<Name>> & HeadersOf<Of<Name>>
>;

/**
 * The result of a method: the whole answer with `data` and `meta`, the text of a feed, the events of a stream as they
 * arrive (for `for await`), the changes of an edition likewise, or undefined for a 204.
 */
export type AnswerOf<Name extends OperationName> =
  Of<Name> extends { answer: infer Schema extends z.ZodType }
    ? z.output<Schema>
    : Of<Name> extends { textType: 'text/event-stream' }
      ? AsyncIterable<StreamedEvent>
      : Of<Name> extends { textType: string }
        ? string
        : Of<Name> extends { fileTypes: readonly string[] }
          ? AsyncIterable<EditionChange>
          : undefined;

interface CallOptions {
  signal?: AbortSignal;
}

/** The type of a method. The caller may omit the input when no part of it is required. */
type Call<Name extends OperationName> =
  Record<string, never> extends InputOf<Name>
    ? (input?: InputOf<Name>, options?: CallOptions) => Promise<AnswerOf<Name>>
    : (input: InputOf<Name>, options?: CallOptions) => Promise<AnswerOf<Name>>;

/** One method per operation of the API. @throws PadronError when the API answers with a problem */
export type PadronClient = { readonly [Name in OperationName]: Call<Name> };
