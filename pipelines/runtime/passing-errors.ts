/**
 * How an error passes by itself.
 * - `away`: an engine cannot be reached, starts, stops, refuses our login or certificate, or has no room for one more
 *   connection. This may last for hours, and nothing else can be done meanwhile.
 * - `refused`: PostgreSQL answers but did not finish this statement, because it ran out of memory or time, or because
 *   another transaction was in the way. Usually a repeat succeeds. But the statement itself may be the cause, so the
 *   number of repeats should be limited.
 */
export type Passing = 'away' | 'refused';

/**
 * Codes of node:net and node:dns, of PostgreSQL ("PostgreSQL Error Codes" in its manual), and of ClickHouse (three
 * digits, `system.errors`). Every insert into ClickHouse can be repeated, so it also can where too few replicas took it.
 */
const codes = new Map<string, Passing>([
  ['ECONNREFUSED', 'away'],
  ['ECONNRESET', 'away'],
  ['EPIPE', 'away'],
  ['ETIMEDOUT', 'away'],
  ['EHOSTUNREACH', 'away'],
  ['ENOTFOUND', 'away'],
  ['EAI_AGAIN', 'away'],
  ['ENETUNREACH', 'away'],
  ['EHOSTDOWN', 'away'],
  ['08000', 'away'],
  ['08001', 'away'],
  ['08003', 'away'],
  ['08004', 'away'], // a proxy or pooler in front of the server refuses the connection
  ['08006', 'away'],
  ['08007', 'away'],
  ['25006', 'away'], // read_only_sql_transaction: a standby, or a primary that an operator made read-only
  ['25P03', 'away'], // idle_in_transaction_session_timeout: this process stood still, and its session was ended
  ['28000', 'away'], // invalid_authorization_specification: pg_hba.conf lets this connection not in
  ['28P01', 'away'], // invalid_password
  ['tls_file_unreadable', 'away'],
  ['516', 'away'], // AUTHENTICATION_FAILED
  ['285', 'away'], // TOO_FEW_LIVE_REPLICAS
  ['286', 'away'], // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE: another insert waits for its quorum
  ['289', 'away'], // REPLICA_IS_NOT_IN_QUORUM
  ['319', 'away'], // UNKNOWN_STATUS_OF_INSERT: the quorum was not reached in time
  ['53100', 'away'], // disk_full: an operator must free space
  ['53300', 'away'], // too_many_connections
  ['57P01', 'away'], // admin_shutdown: the server stops, or an operator ended the session
  ['57P02', 'away'], // crash_shutdown
  ['57P03', 'away'], // cannot_connect_now: the server starts
  ['57P05', 'away'], // idle_session_timeout
  ['25P04', 'refused'], // transaction_timeout
  ['40001', 'refused'], // serialization_failure
  ['40P01', 'refused'], // deadlock_detected
  ['53200', 'refused'], // out_of_memory, also when the table of locks is full
  ['55P03', 'refused'], // lock_not_available
  ['57014', 'refused'], // query_canceled: by statement_timeout or by an operator
]);

/** Codes of node:tls and OpenSSL. A certificate that is replaced ends them. */
const tlsCode = /^(CERT_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/;

/** Messages of pg's errors that have no code: the server went away between two statements, or does not answer. */
const awayInWords =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|socket hang up|not queryable/i;

/**
 * Returns how the error passes by itself, or null if it does not. If the error has the field `retryable`, as our own
 * errors have, this field decides. Otherwise its code or message decides, and if neither is known, its `cause`.
 */
export function passingOf(error: unknown): Passing | null {
  if (!(error instanceof Error)) return null;
  const { code, cause, retryable } = error as Error & { code?: unknown; retryable?: unknown };
  if (typeof retryable === 'boolean') return retryable ? 'away' : null;
  const known = typeof code === 'string' ? codes.get(code) : undefined;
  if (known !== undefined) return known;
  if (typeof code === 'string' && tlsCode.test(code)) return 'away';
  return awayInWords.test(error.message) ? 'away' : passingOf(cause);
}
