import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { type Authority, makeAuthority } from './authority.ts';

/** A request as it arrived. `verified`: by the public Standard Webhooks library, with any of the receiver's secrets. */
export interface Notice {
  path: string;
  method: string;
  headers: IncomingHttpHeaders;
  /** The bytes that came, before any parsing. */
  raw: Buffer;
  body: unknown;
  deliveryId: string | undefined;
  event: string | undefined;
  verified: boolean;
  arrivedAt: Date;
}

export interface Receiver {
  /** https://127.0.0.1:<port> */
  origin: string;
  port: number;
  /** The authority that signed its certificate, for EGRESS_EXTRA_CA. */
  caPem: string;
  notices: readonly Notice[];
  /** Secrets (`whsec_…`) that a notice may be signed with. */
  trust: (secret: string) => void;
  close: () => Promise<void>;
}

/** Answers a notice; may look things up first. The default answer is 204. */
export type Answer = (notice: Notice, response: ServerResponse, request: IncomingMessage) => Promise<void> | void;

export interface ReceiverOptions {
  authority?: Authority;
  certificateNames?: readonly string[];
  notAfter?: Date;
  port?: number;
  answer?: Answer;
}

const maxNoticeBytes = 1_048_576;

/** A customer's receiver on loopback: HTTPS with a certificate of its own authority; keeps what came and verifies it. */
export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const authority = options.authority ?? (await makeAuthority('Padron demo authority'));
  const { certificatePem, keyPem } = await authority.issue({
    names: options.certificateNames ?? ['127.0.0.1', 'localhost'],
    ...(options.notAfter === undefined ? {} : { notBefore: new Date(0), notAfter: options.notAfter }),
  });
  const notices: Notice[] = [];
  const secrets = new Set<string>();
  const server = createServer({ cert: certificatePem, key: keyPem }, (request, response) => {
    void receive(request, response, secrets, notices, options.answer).catch(() => response.destroy());
  });
  const port = await listen(server, options.port ?? 0);
  return {
    origin: `https://127.0.0.1:${port}`,
    port,
    caPem: authority.caPem,
    notices,
    trust: (secret) => void secrets.add(secret),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  secrets: ReadonlySet<string>,
  notices: Notice[],
  answer: Answer | undefined,
): Promise<void> {
  const raw = await readAll(request);
  const notice: Notice = {
    path: request.url ?? '/',
    method: request.method ?? '',
    headers: request.headers,
    raw,
    body: parse(raw),
    deliveryId: single(request.headers['x-service-delivery']),
    event: single(request.headers['x-service-event']),
    verified: [...secrets].some((secret) => verifies(secret, raw, request.headers)),
    arrivedAt: new Date(),
  };
  notices.push(notice);
  if (answer === undefined) response.writeHead(204).end();
  else await answer(notice, response, request);
}

function verifies(secret: string, raw: Buffer, headers: IncomingHttpHeaders): boolean {
  try {
    new Webhook(secret).verify(raw, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > maxNoticeBytes) throw new RangeError('the notice is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function parse(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString('utf8'));
  } catch {
    return undefined;
  }
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}
