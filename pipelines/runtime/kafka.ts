import { Kafka, logLevel } from 'kafkajs';
import { describeError, type Logger } from './log.ts';

/** Makes a kafkajs client. It sets every default that we rely on, and writes into our log. */
export function makeKafka(brokers: string, clientId: string, log: Logger): Kafka {
  return new Kafka({
    clientId,
    brokers: brokers.split(','),
    connectionTimeout: 5_000,
    requestTimeout: 30_000,
    enforceRequestTimeout: true,
    // A broker that has just started answers "coordinator is loading" or "not available" for some seconds, so retry.
    retry: { retries: 8, initialRetryTime: 200, maxRetryTime: 5_000 },
    logLevel: logLevel.WARN,
    logCreator:
      () =>
      ({ level, log: { message, error, broker, groupId } }) => {
        const text = error instanceof Error ? describeError(error) : String(error ?? '');
        const fields = { kafkajs: { error: text, broker, groupId } };
        if (level <= logLevel.ERROR) log.error(fields, message);
        else log.warn(fields, message);
      },
  });
}
