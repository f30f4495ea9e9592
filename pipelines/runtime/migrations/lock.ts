import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { PG_MIGRATE_LOCK_ID } from 'node-pg-migrate';
import { Client } from 'pg';
import { connectionOf } from '../engines/database-url.ts';

/** One migration of an installation runs at a time. This error says who holds the lock, or that the lock was lost. */
export class MigrationLockError extends Error {
  override name = 'MigrationLockError';
  readonly code: 'migration_running' | 'migration_lock_lost';
  constructor(code: MigrationLockError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

interface LockOptions {
  /** How long the lock is waited for while another migration holds it. */
  waitMs: number;
  /** Gets one line for each other migration that is waited for. */
  note: (line: string) => void;
}

const connectTimeoutMs = 10_000;
/** Pause between two tries to get the lock. */
const retryMs = 500;
/**
 * How long a statement waits for a table's lock. While it waits, look-ups and notices wait behind it. A run that fails
 * because of this limit can be repeated.
 */
const tableLockTimeoutMs = 30_000;

/**
 * Runs `work` while no other migration of this installation runs, in any of its stores. The lock is PostgreSQL's
 * advisory lock that node-pg-migrate takes, so a run of an earlier release is waited for too. It belongs to the session
 * of `client`: when this process dies, PostgreSQL releases it. When the session is lost before the work has ended,
 * `lost` is aborted, because another migration may then start. A pooler that shares sessions between clients (PgBouncer
 * in transaction mode) cannot keep the lock, so the address must lead to PostgreSQL itself.
 * @throws MigrationLockError when another migration holds the lock for longer than `waitMs`
 */
export async function withMigrationLock<Result>(
  databaseUrl: string,
  options: LockOptions,
  work: (client: Client, lost: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const client = new Client({
    ...connectionOf(databaseUrl),
    // PostgreSQL keeps 63 bytes of the name.
    application_name: `padron-migrate@${hostname()}`.slice(0, 63),
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  });
  const loss = new AbortController();
  const noteLoss = (error?: Error) => {
    const why = error === undefined ? '' : `: ${error.message}`;
    const message = `the connection to PostgreSQL, which holds the migrations' lock, was lost${why}; run it again`;
    loss.abort(new MigrationLockError('migration_lock_lost', message));
  };
  client.on('error', noteLoss);
  await client.connect();
  try {
    client.on('end', noteLoss);
    // The server's own limits are for sessions of look-ups. The session is idle while ClickHouse migrates.
    await client.query(
      `SET statement_timeout = 0; SET idle_session_timeout = 0; SET lock_timeout = ${tableLockTimeoutMs}`,
    );
    await waitForLock(client, options);
    return await work(client, loss.signal);
  } finally {
    client.off('end', noteLoss);
    await client.end().catch(() => {});
  }
}

async function waitForLock(client: Client, { waitMs, note }: LockOptions): Promise<void> {
  const seconds = Math.round(waitMs / 1_000);
  const deadline = Date.now() + waitMs;
  let noted: string | null = null;
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>(`SELECT pg_try_advisory_lock($1) AS taken`, [
      PG_MIGRATE_LOCK_ID,
    ]);
    if (rows[0]!.taken) return;
    const holder = await readHolder(client);
    if (Date.now() >= deadline) throw new MigrationLockError('migration_running', stillRuns(seconds, holder));
    if (holder !== null && holder.who !== noted) {
      note(`Another migration runs: ${holder.who}. Waiting up to ${seconds} s for its end.`);
      noted = holder.who;
    }
    await sleep(Math.min(retryMs, Math.max(0, deadline - Date.now())));
  }
}

function stillRuns(seconds: number, holder: Holder | null): string {
  const failed = `another migration still runs after ${seconds} s`;
  if (holder === null) return `${failed}: run this one again`;
  return `${failed}: ${holder.who}. Wait for it, or end it with: SELECT pg_terminate_backend(${holder.pid})`;
}

interface Holder {
  pid: number;
  who: string;
}

/** Describes the session that holds the lock. Returns null when none does any more. */
async function readHolder(client: Client): Promise<Holder | null> {
  // A bigint key is kept in two halves, and `objsubid` is 1 for it. The server shows the address and the start only to
  // the session's own user and to members of pg_read_all_stats.
  const { rows } = await client.query<{ pid: number; name: string; address: string | null; since: string | null }>(
    `SELECT a.pid, a.application_name AS name, host(a.client_addr) AS address,
       to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS since
     FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
     WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND (l.classid::bigint << 32) | l.objid::bigint = $1`,
    [PG_MIGRATE_LOCK_ID],
  );
  const holder = rows[0];
  if (holder === undefined) return null;
  const { pid, name, address, since } = holder;
  const place = [address === null ? '' : ` from ${address}`, since === null ? '' : ` since ${since}`].join('');
  return { pid, who: `${name || 'a session without a name'}${place} (PostgreSQL process ${pid})` };
}
