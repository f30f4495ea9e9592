import { CommandError } from './context.ts';

/** What the person reads on standard error: what went wrong and what to do next. Never a stack trace of an engine. */
export function explain(error: unknown): string {
  if (error instanceof CommandError) return lines(error.message, error.advice);
  if (!(error instanceof Error)) return lines(String(error));
  const silence = silenceIn(error);
  if (silence !== null)
    return lines(silence, 'Start the stack with `npm start`, or check the addresses in the environment.');
  const code = 'code' in error ? String(error.code) : '';
  if (code === '42P01' || code === '3F000')
    return lines('The database has no tables of this service.', 'Run `npx padron migrate` first.');
  return lines(error.message || error.name, undefined, code);
}

const silentCodes = ['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT'];

interface Connecting {
  code?: string;
  address?: string;
  hostname?: string;
  port?: number;
  /** host:port, of kafkajs. */
  broker?: string;
  /** A name that stands for several addresses was tried at each. */
  errors?: unknown[];
}

/** An engine that does not answer, with its address where the error or what caused it tells one; null: something else. */
function silenceIn(error: Error): string | null {
  const { code = '', address, hostname, port, broker, errors = [] } = error as Connecting;
  for (const inner of [error.cause, ...errors]) {
    const silence = inner instanceof Error ? silenceIn(inner) : null;
    if (silence !== null) return silence;
  }
  if (!silentCodes.includes(code))
    return /timeout exceeded when trying to connect/.test(error.message) ? 'The database does not answer.' : null;
  const host = address ?? hostname;
  const place = broker ?? (host && port ? `${host}:${port}` : host);
  return `${place === undefined ? 'An engine does not answer' : `Nothing answers at ${place}`} (${code}).`;
}

function lines(message: string, advice?: string, code?: string): string {
  return [`error: ${message}${code ? ` (${code})` : ''}`, ...(advice ? [advice] : [])].join('\n');
}
