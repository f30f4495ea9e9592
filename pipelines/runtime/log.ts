import { ClickHouseError } from '@clickhouse/client';
import { type Logger, pino } from 'pino';
import { traceLogFields } from './tracing/span.ts';

export type { Logger };

/**
 * JSON logs on standard output. Whatever may hold a secret or a person's name is redacted here, once, whoever logs it:
 * callers still mask RUCs themselves (schemas/ruc.ts), since a RUC may stand inside any text.
 */
export function makeLogger(process: string, level: string): Logger {
  const secret = ['authorization', 'token', 'secret', 'secreto', 'password', 'cookie', 'nombre', 'razon_social'];
  return pino({
    level,
    base: { process },
    mixin: traceLogFields,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: secret.flatMap((name) => [name, `*.${name}`, `*.*.${name}`, `*.headers.${name}`]),
      censor: '[redacted]',
    },
    serializers: { err: describeError, error: describeError },
  });
}

/**
 * Name, code, message and stack; never other properties, where engines' errors quote rows and parameters. ClickHouse
 * quotes them in its message too, so of that error only the code and its name are told; and JSON.parse quotes what it could
 * not read, so of that error only where it was.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (error instanceof ClickHouseError) return { name: 'ClickHouseError', code: error.code, type: error.type };
  if (!(error instanceof Error)) return { message: String(error) };
  if (error instanceof SyntaxError) return { name: error.name, stack: framesOf(error) };
  const { code, cause } = error as Error & { code?: unknown };
  return {
    name: error.name,
    code,
    message: error.message,
    stack: error.stack,
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  };
}

function framesOf({ stack = '' }: Error): string {
  return stack
    .split('\n')
    .filter((line) => line.startsWith('    at '))
    .join('\n');
}

const flushEveryMs = 100;

/**
 * The log for one line per request or message: written in blocks, at the latest after `flushEveryMs`, and not searched for
 * secrets, both of which cost more than the line itself when there are thousands a second. So every field is named by the
 * caller and none is free text. A kill -9 loses what was not flushed. Call `stop` before the process ends.
 */
export function makeLineLogger(process: string, level: string): { log: Logger; stop: () => void } {
  const destination = pino.destination({ fd: 1, sync: true, minLength: 8_192 });
  const log = pino(
    {
      level,
      base: { process },
      mixin: traceLogFields,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  const timer = setInterval(() => destination.flushSync(), flushEveryMs).unref();
  return {
    log,
    stop() {
      clearInterval(timer);
      destination.flushSync();
    },
  };
}
