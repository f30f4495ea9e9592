import { isSilence } from '../pipelines/runtime/postgres.ts';

/**
 * Whether an error says that an engine did not answer, and nothing about the request: a refused or broken connection, a
 * server that starts or stops, a deadline. SQLSTATE classes: 08 connection, 53 resources, 57 operator intervention; and of 40
 * a transaction that was undone for another's sake, which succeeds when it is asked for again.
 */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (isSilence(error)) return true;
  const code = 'code' in error ? String(error.code) : '';
  if (/^((08|53|57)[0-9A-Z]{3}|40001|40P01)$/.test(code)) return true;
  if (/^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_)/.test(code)) return true;
  return /timeout exceeded when trying to connect|connection terminated|did not answer within/i.test(error.message);
}

/** A request does not wait for a store that hangs. What runs on is not stopped: its effect may still come. */
export function within<Value>(timeoutMs: number, work: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the store did not answer within ${timeoutMs} ms`)), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
