import { ClickHouseError } from '@clickhouse/client';
import { type Logger, type LoggerOptions, pino } from 'pino';
import { traceLogFields } from './tracing/span.ts';

export type { Logger };

/**
 * Makes a log of JSON lines on standard output. Fields that may hold a secret or a person's name are redacted here.
 * Callers mask RUCs themselves (schemas/ruc.ts), because any text may contain a RUC.
 */
export function makeLogger(process: string, level: string): Logger {
  const secret = ['authorization', 'token', 'secret', 'secreto', 'password', 'cookie', 'nombre', 'razon_social'];
  const options: LoggerOptions = {
    ...lineFormat(process, level),
    redact: {
      paths: secret.flatMap((name) => [name, `*.${name}`, `*.*.${name}`, `*.headers.${name}`]),
      censor: '[redacted]',
    },
    serializers: { err: describeError, error: describeError },
  };
  return pino(options, standardOutput());
}

/**
 * Standard output, written at once. When its reader is gone, further lines are dropped, and the process goes on. Never
 * call the library's `flushSync` on it: without a reader that repeats the write for ever and blocks the process.
 * @param minLength characters that are kept back until there are so many, or until `flush`
 */
function standardOutput(minLength = 0) {
  return pino.destination({ fd: 1, sync: true, minLength });
}

function lineFormat(process: string, level: string): LoggerOptions {
  return {
    level,
    base: { process },
    mixin: traceLogFields,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  };
}

/**
 * Returns what may be logged about an error: its name, code, message and stack.
 * - Databases quote rows and parameters in an error's other properties, so those are left out.
 * - ClickHouse quotes them in the message too. Only the name, code and type of its errors are logged.
 * - JSON.parse quotes its input in the message. Only the name and stack lines of its errors are logged.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (error instanceof ClickHouseError) return { name: 'ClickHouseError', code: error.code, type: error.type };
  if (!(error instanceof Error)) return { message: String(error) };
  if (error instanceof SyntaxError) {
    const frames = error.stack?.split('\n').filter((line) => line.startsWith('    at '));
    return { name: error.name, stack: frames?.join('\n') };
  }
  const { code, cause } = error as Error & { code?: unknown };
  return {
    name: error.name,
    code,
    message: error.message,
    stack: error.stack,
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  };
}

const flushEveryMs = 100;

/**
 * Makes the log for one line per request or message, thousands of lines a second. The log redacts nothing, because a
 * search for secrets would cost more than making the line. So callers name every field and log no free text. The log
 * writes blocks, at the latest after `flushEveryMs`. Call `stop` at the end. A kill -9 loses the last block.
 */
export function makeLineLogger(process: string, level: string): { log: Logger; stop: () => void } {
  const destination = standardOutput(8_192);
  const log = pino(lineFormat(process, level), destination);
  const timer = setInterval(() => destination.flush(), flushEveryMs).unref();
  return {
    log,
    stop() {
      clearInterval(timer);
      destination.flush();
    },
  };
}
