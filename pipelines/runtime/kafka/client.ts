import { Kafka, type KafkaConfig, logLevel } from 'kafkajs';
import { describeError, type Logger } from '../log.ts';
import type { KafkaConnection } from './connection.ts';
import { saslOf } from './login.ts';
import { socketFactory } from './sockets.ts';

const failedConnection = /^(Connection error|Failed to connect to seed broker)/;

/** Makes a kafkajs client. It sets every default that we rely on, and writes into our log. It does not connect. */
export function makeKafka(
  connection: KafkaConnection,
  clientId: string,
  log: Logger,
  options: Partial<Pick<KafkaConfig, 'brokers' | 'sasl' | 'retry' | 'requestTimeout'>> = {},
): Kafka {
  const { brokers, tls, login } = connection;
  return new Kafka({
    clientId,
    brokers: brokers.split(','),
    socketFactory: socketFactory(tls, log),
    ...(login === undefined ? {} : { sasl: saslOf(login) }),
    connectionTimeout: 5_000,
    // A login that the broker lets expire is renewed this long before its end.
    reauthenticationThreshold: 10_000,
    requestTimeout: 30_000,
    enforceRequestTimeout: true,
    // A broker that has just started answers "coordinator is loading" or "not available" for some seconds, so retry.
    retry: { retries: 8, initialRetryTime: 200, maxRetryTime: 5_000 },
    ...options,
    logLevel: logLevel.WARN,
    logCreator:
      () =>
      ({ level, log: { message, error, broker, groupId } }) => {
        const text = error instanceof Error ? describeError(error) : String(error ?? '');
        const fields = { kafkajs: { error: text, broker, groupId } };
        // The socket factory has logged the reason, and less often.
        if (failedConnection.test(message)) log.debug(fields, message);
        else if (level <= logLevel.ERROR) log.error(fields, message);
        else log.warn(fields, message);
      },
  });
}
