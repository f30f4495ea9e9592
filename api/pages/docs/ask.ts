import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { within } from '../../../pipelines/runtime/lifecycle.ts';

// A request to our own API without a connection: the app answers it in this process, with all its checks, limits and
// charges, as if it had come from the person's address.

/** Longest wait for an answer. Look-ups take milliseconds, and a form's page must not hang. */
const askMs = 20_000;

export interface Request {
  method: string;
  /** Path and query. */
  target: string;
  headers: Readonly<Record<string, string>>;
  body: string | null;
  /** Address of the person who asks. */
  remoteAddress: string | undefined;
}

export interface Answered {
  status: number;
  headers: Readonly<Record<string, string>>;
  text: string;
}

export type Ask = (request: Request) => Promise<Answered>;

export function makeAsk(listener: () => RequestListener): Ask {
  return ({ method, target, headers, body, remoteAddress }) => {
    const socket = new Socket();
    Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress });
    const request = new IncomingMessage(socket);
    request.method = method;
    request.url = target;
    request.httpVersion = '1.1';
    const bytes = Buffer.from(body ?? '');
    const all = { host: 'localhost', ...headers, ...(body === null ? {} : { 'content-length': String(bytes.length) }) };
    for (const [name, value] of Object.entries(all)) request.headers[name.toLowerCase()] = value;
    if (body !== null) request.push(bytes);
    request.push(null);
    request.complete = true;
    return within(askMs, answerTo(request, listener()));
  };
}

function answerTo(request: IncomingMessage, listener: RequestListener): Promise<Answered> {
  return new Promise((resolve) => {
    const response = new KeptResponse(request, (text) => {
      const headers = Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)]);
      resolve({ status: response.statusCode, headers: Object.fromEntries(headers) as Record<string, string>, text });
    });
    listener(request, response);
  });
}

/** A response whose bytes are kept instead of sent. */
class KeptResponse extends ServerResponse {
  readonly #chunks: Buffer[] = [];
  readonly #whenEnded: (text: string) => void;

  constructor(request: IncomingMessage, whenEnded: (text: string) => void) {
    super(request);
    this.#whenEnded = whenEnded;
  }

  override write(chunk: unknown): boolean {
    this.#keep(chunk);
    return true;
  }

  override end(chunk?: unknown): this {
    this.#keep(chunk);
    this.#whenEnded(Buffer.concat(this.#chunks).toString());
    this.emit('finish');
    return this;
  }

  #keep(chunk: unknown): void {
    if (typeof chunk === 'string') this.#chunks.push(Buffer.from(chunk));
    else if (chunk instanceof Uint8Array) this.#chunks.push(Buffer.from(chunk));
  }
}
