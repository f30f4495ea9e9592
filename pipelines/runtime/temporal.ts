import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
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

/** Asks for the namespace, which needs a login, and for the server's version. */
export function temporalCheck(target: TemporalAccess | string, client: Client): EngineCheck {
  const access = typeof target === 'string' ? { address: target } : target;
  return {
    engine: 'Temporal',
    address: access.address,
    async ask() {
      const { workflowService, options } = client;
      try {
        return await client.withDeadline(Date.now() + askMs, async () => {
          await workflowService.describeNamespace({ namespace: options.namespace });
          return (await workflowService.getSystemInfo({})).serverVersion || null;
        });
      } catch (error) {
        // gRPC hides why no connection could be made.
        if (isUnavailable(error)) await tryConnection(access);
        throw error;
      }
    },
  };
}

/** Codes of gRPC: 1 cancelled, 4 deadline exceeded, 14 unavailable. */
const isUnavailable = (error: unknown) => [1, 4, 14].includes((error as { code?: number }).code ?? -1);

/** Connects once, to find out why a client cannot. A server that accepts us sends its settings at once. */
async function tryConnection({ address, tls }: TemporalAccess): Promise<void> {
  const at = address.lastIndexOf(':');
  const place = { host: address.slice(0, at).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(at + 1)) };
  const names = tls?.serverName === undefined ? {} : { servername: tls.serverName };
  const socket =
    tls === undefined
      ? connect(place)
      : connectTls({ ...place, ...names, ...readTlsFiles(tls), ALPNProtocols: ['h2'] });
  try {
    const signal = AbortSignal.timeout(handshakeMs);
    await once(socket, tls === undefined ? 'connect' : 'secureConnect', { signal });
    if (tls !== undefined) await Promise.race([once(socket, 'data', { signal }), once(socket, 'close', { signal })]);
  } finally {
    socket.on('error', () => {}).destroy();
  }
}
