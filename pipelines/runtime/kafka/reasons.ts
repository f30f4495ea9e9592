import { EngineError, engineError, type FailureKind } from '../engines/failure.ts';
import { loginFailed } from './login.ts';

interface ClientError extends Error {
  code?: unknown;
  /** Name of an error of Kafka's protocol, whose code is a number. */
  type?: unknown;
  /** host:port, where kafkajs knows it. */
  broker?: string;
}

interface Reason {
  kind: FailureKind;
  reason: string;
  code: string;
}

/**
 * Says why Kafka cannot be used. Reasons that all engines share are in engines/failure.ts; here are those that only
 * kafkajs or Kafka's logins have.
 * @param address the broker that was asked, in case the error does not name one
 */
export function kafkaError(error: unknown, address: string): EngineError {
  if (error instanceof EngineError) return error;
  const chain = causesOf(error);
  const broker = chain.map((one) => one.broker).find((name) => name !== undefined) ?? address;
  const reason = chain.map(reasonOf).find((found) => found !== undefined);
  return reason === undefined ? engineError('Kafka', broker, error) : new EngineError('Kafka', broker, reason, error);
}

function causesOf(error: unknown): ClientError[] {
  const chain: ClientError[] = [];
  for (let one = error; one instanceof Error && chain.length < 5; one = one.cause) chain.push(one);
  return chain;
}

function reasonOf({ name, message, code, type }: ClientError): Reason | undefined {
  if (code === loginFailed) return { kind: 'refused', reason: message, code: 'login_failed' };
  if (type === 'ILLEGAL_SASL_STATE') {
    return { kind: 'refused', reason: 'it takes no login at this port, but KAFKA_SASL_MECHANISM is set', code: type };
  }
  if (type === 'UNSUPPORTED_SASL_MECHANISM') {
    return { kind: 'refused', reason: 'it does not offer the login of KAFKA_SASL_MECHANISM', code: type };
  }
  if (typeof type === 'string') return { kind: 'away', reason: `${message} (${type})`, code: type };
  const unreadable = /^Failed to connect: (cannot read .*|.* is not a PEM file)/.exec(message)?.[1];
  if (unreadable !== undefined) return { kind: 'refused', reason: unreadable, code: 'tls_file_unreadable' };
  // A broker that goes away during a handshake looks the same, so it may pass.
  if (message.includes('before secure TLS connection')) {
    return { kind: 'away', reason: 'it does not speak TLS at this port, but KAFKA_TLS is set', code: 'no_tls' };
  }
  if (name === 'KafkaJSConnectionClosedError' || /closed connection|closed by the server/i.test(message)) {
    const reason = 'it closed the connection: it may expect TLS (KAFKA_TLS) or a login (KAFKA_SASL_MECHANISM)';
    return { kind: 'away', reason, code: 'closed' };
  }
  return undefined;
}
