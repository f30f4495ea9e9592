import { createHash } from 'node:crypto';
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';
import { readTlsFiles } from '../pipelines/runtime/engines/tls.ts';
import { startRepeating } from '../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../pipelines/runtime/log.ts';
import type { TemporalAccess } from '../pipelines/runtime/temporal.ts';

/** Pause between two looks at the files. Certificates are replaced days or hours before they expire. */
const lookEveryMs = 10_000;
/** Longer than a worker's longest call, in which it waits for a task. */
const closeAfterMs = 120_000;

/** What takes the place of its connection while it runs, such as Temporal's `Worker`. */
interface Connected {
  connection: NativeConnection | undefined;
}

/** Opens the connection of a worker. Temporal's library reads the certificates only once, here. */
export async function connectNative(access: TemporalAccess): Promise<NativeConnection> {
  return NativeConnection.connect(optionsOf(access));
}

function optionsOf({ address, tls, apiKey }: TemporalAccess): NativeConnectionOptions {
  if (tls === undefined) return { address };
  const { ca, cert, key } = readTlsFiles(tls);
  return {
    address,
    tls: {
      ...(tls.serverName === undefined ? {} : { serverNameOverride: tls.serverName }),
      ...(ca === undefined ? {} : { serverRootCACertificate: Buffer.from(ca) }),
      ...(cert === undefined || key === undefined
        ? {}
        : { clientCertPair: { crt: Buffer.from(cert), key: Buffer.from(key) } }),
    },
    ...(apiKey === undefined ? {} : { apiKey }),
  };
}

/**
 * Gives the workers a new connection when a file of TLS has changed. Until then the library would connect again with
 * the old certificate for ever. Calls that run end on the old connection. If the new certificate does not work either,
 * the workers keep the old connection, and the next look tries again.
 * @returns a function that ends this and closes all connections but the first, which is the caller's
 */
export function followCertificates(
  access: TemporalAccess,
  workers: readonly Connected[],
  log: Logger,
  everyMs = lookEveryMs,
): () => Promise<void> {
  if (access.tls === undefined) return async () => {};
  const { tls } = access;
  const hashNow = () =>
    createHash('sha256')
      .update(JSON.stringify(readTlsFiles(tls)))
      .digest('hex');
  let used = hashNow();
  const made: NativeConnection[] = [];
  const closing = new Set<NodeJS.Timeout>();
  const stop = startRepeating("look at Temporal's certificates", everyMs, log, async () => {
    const now = hashNow();
    if (now === used) return;
    const connection = await connectNative(access);
    const former = made.at(-1);
    for (const worker of workers) worker.connection = connection;
    made.push(connection);
    used = now;
    log.info({}, 'the workers use the new certificates for Temporal');
    if (former !== undefined) closing.add(setTimeout(() => void former.close().catch(() => {}), closeAfterMs).unref());
  });
  return async () => {
    await stop();
    for (const timer of closing) clearTimeout(timer);
    for (const connection of made) await connection.close().catch(() => {});
  };
}
