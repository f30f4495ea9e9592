import { EngineError, engineError } from '../../pipelines/runtime/engines/failure.ts';
import { CommandError } from './context.ts';

const seeEngines = 'Check the settings: `npx padron engines` asks all engines.';

/**
 * Makes the text that the operator reads on standard error: what went wrong and what to do next, without stack traces.
 */
export function explain(error: unknown): string {
  if (error instanceof CommandError) return lines(error.message, error.advice);
  if (!(error instanceof Error)) return lines(String(error));
  if (error instanceof EngineError && !unreachableCodes.includes(error.code)) {
    return lines(`${error.message}.`, `Check the settings of ${error.engine}.`);
  }
  const unreachable = unreachableEngine(error);
  if (unreachable !== null)
    return lines(unreachable, 'Start the stack with `npm start`, or check the addresses in the environment.');
  const code = 'code' in error ? String(error.code) : '';
  if (code === '42P01' || code === '3F000')
    return lines('The database has no tables of this service.', 'Run `npx padron migrate` first.');
  if (error.name === 'ArchiveError' && (code === 'not_found' || code === 'hash_mismatch'))
    return lines(`${error.message}.`, 'Bring the right file back: the last part of its name is its SHA-256.', code);
  // Which engine it was does not matter here: only whether an engine refused us.
  const isRefusal = engineError('PostgreSQL', '', error).kind === 'refused';
  return lines(error.message || error.name, isRefusal ? seeEngines : undefined, code);
}

const unreachableCodes = ['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT'];

/** The fields that Node's and kafkajs's connection errors may have. */
interface ConnectionError {
  code?: string;
  address?: string;
  hostname?: string;
  port?: number;
  /** kafkajs writes host:port here. */
  broker?: string;
  /** Node tries every address of a host name, and keeps one error for each address. */
  errors?: unknown[];
}

/**
 * Returns a sentence about the engine that does not answer, with the engine's address if the error or its cause has
 * one. Returns null for any other error.
 */
function unreachableEngine(error: Error): string | null {
  const { code = '', address, hostname, port, broker, errors = [] } = error as ConnectionError;
  for (const inner of [error.cause, ...errors]) {
    const unreachable = inner instanceof Error ? unreachableEngine(inner) : null;
    if (unreachable !== null) return unreachable;
  }
  if (!unreachableCodes.includes(code))
    return /timeout exceeded when trying to connect/.test(error.message) ? 'The database does not answer.' : null;
  const host = address ?? hostname;
  const place = broker ?? (host && port ? `${host}:${port}` : host);
  return `${place === undefined ? 'An engine does not answer' : `Nothing answers at ${place}`} (${code}).`;
}

function lines(message: string, advice?: string, code?: string): string {
  return [`error: ${message}${code ? ` (${code})` : ''}`, ...(advice ? [advice] : [])].join('\n');
}
