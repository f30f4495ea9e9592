// The certificate library's dependency injection refuses to load unless this import comes first.
import 'reflect-metadata';
import type { webcrypto } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
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
  /** The certificate of the authority that signed the receiver's certificate, for EGRESS_EXTRA_CA. */
  caPem: string;
  notices: readonly Notice[];
  /** Adds a secret (`whsec_…`) that deliveries may be signed with. */
  trust: (secret: string) => void;
  close: () => Promise<void>;
}

/** Answers a delivery, and may do other work before. A receiver without this function answers 204. */
export type Answer = (notice: Notice, response: ServerResponse, request: IncomingMessage) => Promise<void> | void;

interface ReceiverOptions {
  authority?: Authority;
  certificateNames?: readonly string[];
  notAfter?: Date;
  port?: number;
  answer?: Answer;
}

const maxBodyBytes = 1_048_576;

/**
 * Starts a customer's receiver on loopback. It serves HTTPS with a certificate of its own authority, keeps every
 * delivery and verifies it.
 */
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

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** A certificate authority for receivers on this machine. Only a process that is configured to trust it does so. */
export interface Authority {
  caPem: string;
  issue: (options: CertificateOptions) => Promise<{ certificatePem: string; keyPem: string }>;
}

interface CertificateOptions {
  /** DNS names and IP addresses that the certificate is for. */
  names: readonly string[];
  notBefore?: Date;
  notAfter?: Date;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const dayMs = 86_400_000;

export async function makeAuthority(commonName: string): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const issuer = `CN=${commonName}`;
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: issuer,
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + 30 * dayMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  return { caPem: root.toString('pem'), issue: (options) => issue(issuer, keys.privateKey, options) };
}

async function issue(issuer: string, signingKey: webcrypto.CryptoKey, options: CertificateOptions) {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: `CN=${options.names[0]}`,
    issuer,
    notBefore: options.notBefore ?? new Date(Date.now() - dayMs),
    notAfter: options.notAfter ?? new Date(Date.now() + 7 * dayMs),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        options.names.map((name) => ({
          type: /^[0-9.]+$|:/.test(name) ? ('ip' as const) : ('dns' as const),
          value: name,
        })),
      ),
    ],
  });
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { certificatePem: certificate.toString('pem'), keyPem: key };
}

/** Sixteen random bytes in hex. The first bit is 0, because a certificate's serial number must be positive. */
function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[0] = (bytes[0]! & 0x3f) | 0x40;
  return Buffer.from(bytes).toString('hex');
}
