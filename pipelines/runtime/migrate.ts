import { once } from 'node:events';
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { Worker } from 'node:worker_threads';
import { runner } from 'node-pg-migrate';
import type { Client } from 'pg';
import { currentViews } from '../../schemas/clickhouse/current-views.ts';
import { databaseEngineOf, withReplicatedFiles } from '../../schemas/clickhouse/replicated.ts';
import { type ClickhouseTarget, clickhouseAccessOf, makeClickhouse } from './clickhouse.ts';
import { hasLaterSchema } from './migrations/level.ts';
import { withMigrationLock } from './migrations/lock.ts';

/*
 * Applies numbered forward-only migrations by maintained libraries. Every statement is repeatable, so a run that died
 * half way is run again. Callers hold the lock of migrations/lock.ts, so that one run works at a time in both stores.
 */

const folder = (engine: string) => fileURLToPath(new URL(`../../schemas/${engine}`, import.meta.url));

/** This is long because a migration may copy a table: two million rows took 40 s on a busy machine. */
const migrationTimeoutMs = 600_000;

class MigrationError extends Error {
  override name = 'MigrationError';
  readonly code = 'migration_failed';
}

/**
 * Applies the files in schemas/postgres, each in one transaction. If the process dies, PostgreSQL undoes the file at
 * which it was. Returns the names of the files that were new.
 * @param database the session that holds the lock, or an address, for which the lock is taken and released again
 */
export async function migratePostgres(database: string | Client): Promise<string[]> {
  const silent = () => {};
  if (typeof database === 'string') {
    return withMigrationLock(database, { waitMs: migrationTimeoutMs, note: silent }, (client) =>
      migratePostgres(client),
    );
  }
  const applied = await runner({
    dbClient: database,
    dir: folder('postgres'),
    direction: 'up',
    migrationsTable: 'schema_migration',
    checkOrder: true,
    singleTransaction: false,
    // The session has the lock already.
    noLock: true,
    logger: { info: silent, warn: silent, error: silent },
  });
  return applied.map((migration) => migration.name);
}

const pingTimeoutMs = 10_000;

/**
 * Applies the files in schemas/clickhouse, then makes the views of all registers anew. Makes the database if it is
 * missing, and refuses a file that was changed after it had been applied. ClickHouse has no transactions: a run that
 * died leaves the first statements of a file. The next run executes the whole file again, and the file's statements
 * allow that (`IF NOT EXISTS`).
 *
 * If the machine dies right after a file, its row in `_migrations` is on the disk (`keepRows`), and so is its schema. Only
 * the first run of an empty store may lose rows that way. The next run may then ask for a table that a later file had
 * removed. That store has no data yet: drop its database and run again.
 *
 * Does nothing when a later release has migrated the store: the library would refuse files that it does not know, and a
 * return to this release must not fail because of them.
 * @param stop ends the run when it is aborted
 * @throws MigrationError with the library's or the engine's own message; the connection's error when nothing answers
 */
export async function migrateClickhouse(clickhouseUrl: ClickhouseTarget, stop?: AbortSignal): Promise<void> {
  stop?.throwIfAborted();
  if (await isLater(clickhouseUrl)) return;
  await applyFiles(clickhouseUrl, stop);
  await runStatements(clickhouseUrl, 'the table of migrations', [keepRows], stop);
  await runStatements(clickhouseUrl, 'views', currentViews(), stop);
}

async function applyFiles(clickhouseUrl: ClickhouseTarget, stop?: AbortSignal): Promise<void> {
  const home = folder('clickhouse');
  if (!clickhouseAccessOf(clickhouseUrl).isReplicated) return applyFolder(clickhouseUrl, home, stop);
  await withReplicatedFiles(home, (replicated) => applyFolder(clickhouseUrl, replicated, stop));
}

async function applyFolder(clickhouseUrl: ClickhouseTarget, home: string, stop?: AbortSignal): Promise<void> {
  const access = clickhouseAccessOf(clickhouseUrl);
  const url = new URL(access.url);
  const database = decodeURIComponent(url.pathname.slice(1)) || 'default';
  const engine = databaseEngineOf(database, access);
  // The library runs in a thread of its own, because it exits when a statement fails. A thread also dies with this
  // process, so nothing works on without the lock.
  const worker = new Worker(createRequire(import.meta.url).resolve('clickhouse-migrations/lib/cli.js'), {
    argv: ['migrate'],
    execArgv: [],
    stdout: true,
    stderr: true,
    env: {
      CH_MIGRATIONS_HOST: url.origin,
      CH_MIGRATIONS_USER: access.username ?? (decodeURIComponent(url.username) || 'default'),
      CH_MIGRATIONS_PASSWORD: access.password ?? decodeURIComponent(url.password),
      CH_MIGRATIONS_DB: database,
      CH_MIGRATIONS_HOME: home,
      ...(engine === undefined ? {} : { CH_MIGRATIONS_DB_ENGINE: `ENGINE=${engine}` }),
      ...(access.isReplicated ? { CH_MIGRATIONS_TABLE_ENGINE: 'ReplicatedMergeTree' } : {}),
      ...(access.caFile === undefined ? {} : { CH_MIGRATIONS_CA_CERT: access.caFile }),
      CH_MIGRATIONS_TIMEOUT: String(migrationTimeoutMs),
    },
  });
  const end = () => void worker.terminate();
  stop?.addEventListener('abort', end, { once: true });
  const output = Promise.all([text(worker.stdout), text(worker.stderr)]);
  const [code] = (await once(worker, 'exit')) as [number];
  stop?.removeEventListener('abort', end);
  stop?.throwIfAborted();
  if (code === 0) return;
  const said = stripVTControlCharacters((await output).join('').slice(-8_000)).trim();
  throw new MigrationError(`ClickHouse migrations failed: ${said}`);
}

/**
 * Whether a later release has migrated ClickHouse. Asks for an answer first, because the library reports a failed
 * connection in twenty lines.
 * @throws the client's error
 */
async function isLater(clickhouseUrl: ClickhouseTarget): Promise<boolean> {
  const client = makeClickhouse(clickhouseUrl, 'padron-migrate', { requestTimeoutMs: pingTimeoutMs, connections: 1 });
  try {
    const answer = await client.ping();
    if (!answer.success) throw answer.error;
    return await hasLaterSchema(client);
  } finally {
    await client.close();
  }
}

/** The library makes its table without this. With it, an inserted row is on the disk when the insert is acknowledged. */
const keepRows = 'ALTER TABLE _migrations MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1';

/**
 * Sends repeatable statements. If the process dies between two views, some views are new and the others old. Readers can
 * use both, and the next run makes all views again.
 */
async function runStatements(
  clickhouseUrl: ClickhouseTarget,
  what: string,
  statements: readonly string[],
  stop?: AbortSignal,
): Promise<void> {
  const client = makeClickhouse(clickhouseUrl, 'padron-migrate', {
    requestTimeoutMs: migrationTimeoutMs,
    connections: 1,
  });
  try {
    for (const query of statements) {
      stop?.throwIfAborted();
      await client.command({ query });
    }
  } catch (error) {
    throw new MigrationError(`ClickHouse ${what} failed: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await client.close();
  }
}
