// Connections refused, reset or timed out; PostgreSQL shutting down, starting, out of connections, or a transaction to repeat.
const passing = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '40001',
  '40P01',
  '08000',
  '08003',
  '08006',
]);

/**
 * Whether an engine failed in a way that passes by itself, so that the same batch is tried again. Everything else is a
 * bug and ends the process. A typed error says so itself (`retryable`).
 */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { retryable, code, cause } = error as Error & { retryable?: unknown; code?: unknown };
  if (typeof retryable === 'boolean') return retryable;
  if (typeof code === 'string' && passing.has(code)) return true;
  // pg says this without a code when the server goes away between two statements, or hangs in one.
  const wording = /Connection terminated|timeout exceeded when trying to connect|Query read timeout|socket hang up/i;
  if (wording.test(error.message)) return true;
  return cause !== undefined && isRetryable(cause);
}
