import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Server } from 'node:tls';
import type { Certificate } from '../../../deploy/local/demo/receiver.ts';
import { type Authority, makeAuthority } from '../delivery/authority.ts';

/** A proxy that speaks TLS before an engine that does not, and checks client certificates and logins. */
export interface TlsRelay {
  port: number;
  /** Presents another certificate to new connections. */
  present(certificate: Certificate): void;
  /** Trusts the clients' certificates of this authority only, and demands one. */
  demandClients(authority: Authority, certificate: Certificate): void;
  /** Breaks all connections, as a server that was restarted does. */
  breakConnections(): void;
  /** Connections that were accepted until now. */
  accepted(): number;
  stop(): Promise<void>;
}

export interface TlsRelayOptions {
  certificate: Certificate;
  /** Returns whether a request with this header `authorization` may pass. All others are answered with 401. */
  authorize?: (authorization: string | undefined) => boolean;
  /** Gets the path of each request, with its query. */
  seen?: (path: string) => void;
}

/** Starts a relay for an engine that speaks HTTP/1.1. */
export async function startHttpRelay(engineUrl: string, options: TlsRelayOptions): Promise<TlsRelay> {
  const { hostname, port } = new URL(engineUrl);
  const { authorize = () => true, seen } = options;
  const server = createHttpsServer(contextOf(options.certificate), (request, response) => {
    if (!authorize(request.headers.authorization)) return void response.writeHead(401).end('{}');
    seen?.(request.url ?? '');
    const { headers } = request;
    const upstream = requestHttp({ hostname, port, path: request.url, method: request.method, headers });
    upstream.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    upstream.on('error', () => response.destroy());
    response.on('close', () => upstream.destroy());
    request.pipe(upstream);
  });
  return relayOf(server);
}

const contextOf = ({ certificatePem, keyPem }: Certificate) => ({ cert: certificatePem, key: keyPem });

/** Listens, and makes the controls that all relays have. */
export async function relayOf(server: Server): Promise<TlsRelay> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  server.on('connection', (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const breakConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    present: (certificate) => server.setSecureContext(contextOf(certificate)),
    demandClients(authority, certificate) {
      server.setSecureContext({ ...contextOf(certificate), ca: authority.caPem });
      Object.assign(server, { requestCert: true, rejectUnauthorized: true });
    },
    breakConnections,
    accepted: () => accepted,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        breakConnections();
      }),
  };
}

/** A folder with PEM files that a test replaces as an operator's tool does: whole, by renaming. */
export class PemFolder {
  readonly #path = mkdtempSync(join(tmpdir(), 'padron-pem-'));

  write(name: string, text: string): string {
    const file = join(this.#path, name);
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
    return file;
  }

  remove(): void {
    rmSync(this.#path, { recursive: true, force: true });
  }
}

/** The certificates that the suites of secured engines need, for the address 127.0.0.1. */
export async function makeCertificates() {
  const [authority, otherAuthority] = await Promise.all([makeAuthority('Engines'), makeAuthority('Others')]);
  const names = ['127.0.0.1', 'localhost'];
  const day = 86_400_000;
  const [right, renewed, expired, wrongName, client, otherClient] = await Promise.all([
    authority.issue({ names }),
    authority.issue({ names }),
    authority.issue({ names, notBefore: new Date(Date.now() - 3 * day), notAfter: new Date(Date.now() - day) }),
    authority.issue({ names: ['engine.example'] }),
    authority.issue({ names: ['padron'] }),
    otherAuthority.issue({ names: ['padron'] }),
  ]);
  return { authority, otherAuthority, right, renewed, expired, wrongName, client, otherClient };
}
