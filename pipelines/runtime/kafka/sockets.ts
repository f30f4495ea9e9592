import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';
import { readTlsFiles } from '../engines/tls.ts';
import type { Logger } from '../log.ts';
import type { KafkaConnection } from './connection.ts';
import { kafkaError } from './reasons.ts';

/** Idle time after which the system asks whether the broker is still there. */
const keepAliveMs = 60_000;
/** A client tries again several times a second. Its log says the same of the same broker once in this time. */
const sameLineMs = 10_000;

/**
 * Makes kafkajs's sockets. kafkajs itself takes certificates once, as text, and would use an expired one until the
 * process ends (tulios/kafkajs#1455). This factory reads the files for every new connection. It logs why a connection
 * failed, because kafkajs keeps only the words of OpenSSL.
 */
export function socketFactory(tls: KafkaConnection['tls'], log: Logger): ISocketFactory {
  const loggedAt = new Map<string, number>();
  const report = (broker: string, error: unknown) => {
    const line = kafkaError(error, broker).message;
    if (Date.now() - (loggedAt.get(line) ?? 0) < sameLineMs) return;
    // Few lines differ: there are as many as brokers and reasons.
    loggedAt.set(line, Date.now());
    log.error({ broker }, line);
  };
  return ({ host, port, onConnect }) => {
    const broker = `${host}:${port}`;
    try {
      const socket = tls === undefined ? connect({ host, port }, onConnect) : secureSocket(tls, host, port, onConnect);
      return socket.setKeepAlive(true, keepAliveMs).once('error', (error) => report(broker, error));
    } catch (error) {
      report(broker, error);
      throw error;
    }
  };
}

/** @throws TlsFileError, which kafkajs takes for a failed connection */
function secureSocket(
  files: NonNullable<KafkaConnection['tls']>,
  host: string,
  port: number,
  onConnect: () => void,
): Socket {
  // A server name must not be an address. Without one, Node still compares the address with the certificate.
  const name = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ host, port, ...name, ...readTlsFiles(files) }, onConnect);
}
