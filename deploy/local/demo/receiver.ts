// The certificate library's dependency injection refuses to load unless this import comes first.
import 'reflect-metadata';
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import * as x509 from '@peculiar/x509';
import { Webhook } from 'standardwebhooks';

/** A delivery as it arrived. */
export interface Notice {
  path: string;
  method: string;
  headers: IncomingHttpHeaders;
  /** The body before any parsing. */
  raw: Buffer;
  body: unknown;
  deliveryId: string | undefined;
  event: string | undefined;
  /** True when the public Standard Webhooks library accepts the signature with one of the receiver's secrets. */
  verified: boolean;
  arrivedAt: Date;
}

export interface Receiver {
  /** https://127.0.0.1:<port> */
  origin: string;
  port: number;
  /** The certificate whose key signed the receiver's certificate, for the setting EGRESS_EXTRA_CA. */
  caPem: string;
  notices: readonly Notice[];
  /** Adds a secret (`whsec_…`) that deliveries may be signed with. */
  trust: (secret: string) => void;
  close: () => Promise<void>;
}

/** Answers a delivery, and may do other work first. A receiver without this function answers 204. */
export type Answer = (notice: Notice, response: ServerResponse, request: IncomingMessage) => Promise<void> | void;

interface ReceiverOptions {
  /** By default the receiver makes a certificate and signs it itself. */
  certificate?: Certificate;
  answer?: Answer;
}

const maxBodyBytes = 1_048_576;
const validMs = 30 * 86_400_000;

/** Starts a customer's receiver on loopback. It serves HTTPS, keeps every delivery and verifies it. */
export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const { certificatePem, keyPem, caPem } = options.certificate ?? (await selfSigned());
  const notices: Notice[] = [];
  const secrets = new Set<string>();
  const server = createServer({ cert: certificatePem, key: keyPem }, (request, response) => {
    void receive(request, response, secrets, notices, options.answer).catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `https://127.0.0.1:${port}`,
    port,
    caPem,
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
  const delivery: Notice = {
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
  notices.push(delivery);
  if (answer === undefined) response.writeHead(204).end();
  else await answer(delivery, response, request);
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
    if (bytes > maxBodyBytes) throw new RangeError('the delivery is too long');
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

/** A server's certificate with its key. A client trusts it only when configured to trust `caPem`. */
export interface Certificate {
  certificatePem: string;
  keyPem: string;
  /** The certificate whose key signed this certificate, for the setting EGRESS_EXTRA_CA. */
  caPem: string;
}

/** Makes a certificate for this machine that is signed with its own key. */
async function selfSigned(): Promise<Certificate> {
  const keys = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Padron demo receiver',
    notAfter: new Date(Date.now() + validMs),
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    keys,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])],
  });
  const certificatePem = certificate.toString('pem');
  const key = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { certificatePem, keyPem: x509.PemConverter.encode(key, 'PRIVATE KEY'), caPem: certificatePem };
}
