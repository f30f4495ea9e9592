import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { Client, Connection, type ConnectionOptions } from '@temporalio/client';
import type { TemporalConfiguration } from './config.ts';
import type { EngineCheck } from './engines/check.ts';
import { readTlsFiles, type TlsFiles } from './engines/tls.ts';

/** Where Temporal is and how we log in there. A plain address stands for a server without TLS. */
export interface TemporalAccess {
  /** host:port */
  address: string;
  /** Without it, connections are plain text. */
  tls?: TlsFiles & { serverName?: string | undefined };
  /** Sent as a bearer token with every call. */
  apiKey?: string | undefined;
}

export function temporalAccess(
  address: string,
  config: Omit<TemporalConfiguration, 'TEMPORAL_ADDRESS'>,
): TemporalAccess {
  if (!config.TEMPORAL_TLS) return { address };
  return {
    address,
    tls: {
      ca: config.TEMPORAL_TLS_CA_FILE,
      cert: config.TEMPORAL_TLS_CERT_FILE,
      key: config.TEMPORAL_TLS_KEY_FILE,
      serverName: config.TEMPORAL_TLS_SERVER_NAME,
    },
    apiKey: config.TEMPORAL_API_KEY,
  };
}

/** Connects to Temporal. Rejects after 10 s when the server does not answer. */
export async function makeTemporal(target: TemporalAccess | string, namespace: string): Promise<Client> {
  const connection = await Connection.connect(optionsOf(target, 10_000));
  return new Client({ connection, namespace });
}

/** Makes a client that connects at its first call, so that a process that rarely uses Temporal starts without it. */
export function makeLazyTemporal(
  target: TemporalAccess | string,
  namespace: string,
): Client & { connection: Connection } {
  const connection = Connection.lazy(optionsOf(target, 5_000));
  return Object.assign(new Client({ connection, namespace }), { connection });
}

/** The copy of grpc-js that Temporal's client uses. Temporal itself has no way to say where certificates come from. */
const grpc = createRequire(createRequire(import.meta.url).resolve('@temporalio/client'))('@grpc/grpc-js') as {
  credentials: { createFromSecureContext(context: SecureContext): ConnectionOptions['credentials'] };
};

function optionsOf(target: TemporalAccess | string, connectTimeout: number): ConnectionOptions {
  const { address, tls, apiKey } = typeof target === 'string' ? { address: target } : target;
  if (tls === undefined) return { address, connectTimeout };
  // Each new connection reads the property `context`, and so the files as they are then.
  const secureContext: SecureContext = {
    get context() {
      return createSecureContext(readTlsFiles(tls)).context;
    },
  };
  const name = tls.serverName;
  return {
    address,
    connectTimeout,
    credentials: grpc.credentials.createFromSecureContext(secureContext),
    ...(apiKey === undefined ? {} : { metadata: { Authorization: `Bearer ${apiKey}` } }),
    ...(name === undefined
      ? {}
      : { channelArgs: { 'grpc.ssl_target_name_override': name, 'grpc.default_authority': name } }),
  };
}

const askMs = 4_000;
const handshakeMs = 3_000;
/** How long a server may take to close a connection whose certificate it refuses. */
const refusalMs = 500;

/** Asks for the namespace, which needs a login, and for the server's version. */
export function temporalCheck(target: TemporalAccess | string, client: Client): EngineCheck {
  const access = typeof target === 'string' ? { address: target } : target;
  let worked = false;
  return {
    engine: 'Temporal',
    address: access.address,
    async ask() {
      // gRPC hides why no connection could be made, and tries for a long time.
      if (!worked) await tryConnection(access);
      worked = false;
      const { workflowService, options } = client;
      const version = await client.withDeadline(Date.now() + askMs, async () => {
        await workflowService.describeNamespace({ namespace: options.namespace });
        return (await workflowService.getSystemInfo({})).serverVersion || null;
      });
      worked = true;
      return version;
    },
  };
}

/** Connects once without gRPC. @throws the error of node:net or node:tls, which says why no connection can be made */
async function tryConnection({ address, tls }: TemporalAccess): Promise<void> {
  const at = address.lastIndexOf(':');
  const place = { host: address.slice(0, at).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(at + 1)) };
  const name = tls?.serverName === undefined ? {} : { servername: tls.serverName };
  const socket =
    tls === undefined ? connect(place) : connectTls({ ...place, ...name, ...readTlsFiles(tls), ALPNProtocols: ['h2'] });
  try {
    await once(socket, tls === undefined ? 'connect' : 'secureConnect', { signal: AbortSignal.timeout(handshakeMs) });
    // With TLS 1.3, a server refuses our certificate only after the client's side of the handshake.
    if (tls !== undefined) await refusalOf(socket);
  } finally {
    socket.on('error', () => {}).destroy();
  }
}

/** Resolves when the server has said something or has said nothing for a while. Rejects when it refuses us. */
async function refusalOf(socket: Socket): Promise<void> {
  const signal = AbortSignal.timeout(refusalMs);
  await once(socket, 'data', { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
