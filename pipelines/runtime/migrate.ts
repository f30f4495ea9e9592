import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify, stripVTControlCharacters } from 'node:util';
import { runner } from 'node-pg-migrate';
import { currentViews } from '../../schemas/clickhouse/current-views.ts';
import { databaseEngineOf, withReplicatedFiles } from '../../schemas/clickhouse/replicated.ts';
import { type ClickhouseTarget, clickhouseAccessOf, makeClickhouse } from './clickhouse.ts';

/*
 * Applies numbered forward-only migrations by maintained libraries. Every statement is repeatable, so a run that died
 * half way is run again. Two runs at once are safe: PostgreSQL has a lock; for ClickHouse see `migrateClickhouse`.
 */

const folder = (engine: string) => fileURLToPath(new URL(`../../schemas/${engine}`, import.meta.url));

class MigrationError extends Error {
  override name = 'MigrationError';
  readonly code = 'migration_failed';
}

/** Applies the files in schemas/postgres, each in one transaction. Returns the names of the files that were new. */
export async function migratePostgres(databaseUrl: string): Promise<string[]> {
  const silent = () => {};
  const applied = await runner({
    databaseUrl,
    dir: folder('postgres'),
    direction: 'up',
    migrationsTable: 'schema_migration',
    checkOrder: true,
    singleTransaction: false,
    advisoryLockMode: 'wait',
    logger: { info: silent, warn: silent, error: silent },
  });
  return applied.map((migration) => migration.name);
}

/** This is long because a migration may copy a table: two million rows took 40 s on a busy machine. */
const migrationTimeoutMs = 600_000;
const pingTimeoutMs = 10_000;

/**
 * Applies the files in schemas/clickhouse, then makes the views of all registers anew. Makes the database if it is
 * missing, and refuses a file that was changed after it had been applied. Two runs may execute the same files at once,
 * because ClickHouse has no lock:
 * - The files' statements have IF NOT EXISTS.
 * - Both runs record a file's version. The next run reads the two records as one.
 * - A run fails if it needs a table that a later file has dropped in the other run. A failed run is repeated once, and
 *   then skips the files that the other run has recorded.
 * @throws MigrationError with the library's or the engine's own message; the connection's error when nothing answers
 */
export async function migrateClickhouse(clickhouseUrl: ClickhouseTarget): Promise<void> {
  await requireAnswer(clickhouseUrl);
  await applyFiles(clickhouseUrl).catch(() => applyFiles(clickhouseUrl));
  await makeViews(clickhouseUrl);
}

async function applyFiles(clickhouseUrl: ClickhouseTarget): Promise<void> {
  const home = folder('clickhouse');
  if (!clickhouseAccessOf(clickhouseUrl).isReplicated) return applyFolder(clickhouseUrl, home);
  await withReplicatedFiles(home, (replicated) => applyFolder(clickhouseUrl, replicated));
}

async function applyFolder(clickhouseUrl: ClickhouseTarget, home: string): Promise<void> {
  const access = clickhouseAccessOf(clickhouseUrl);
  const url = new URL(access.url);
  const database = decodeURIComponent(url.pathname.slice(1)) || 'default';
  const engine = databaseEngineOf(database, access);
  const program = createRequire(import.meta.url).resolve('clickhouse-migrations/lib/cli.js');
  // The library runs in a process of its own, because it ends its process when a statement fails. The password goes
  // into the environment, because everyone on the machine can see a command line.
  const run = promisify(execFile)(process.execPath, [program, 'migrate'], {
    timeout: migrationTimeoutMs,
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
  await run.catch(({ stdout, stderr }: { stdout: string; stderr: string }) => {
    const output = stripVTControlCharacters(`${stdout}${stderr}`.slice(-8_000)).trim();
    throw new MigrationError(`ClickHouse migrations failed: ${output}`);
  });
}

/** Checks the connection first: the library reports a failed connection in twenty lines. @throws the client's error */
async function requireAnswer(clickhouseUrl: ClickhouseTarget): Promise<void> {
  const client = makeClickhouse(clickhouseUrl, 'padron-migrate', { requestTimeoutMs: pingTimeoutMs, connections: 1 });
  const answer = await client.ping();
  await client.close();
  if (!answer.success) throw answer.error;
}

/**
 * Makes each view anew. If the process dies between two views, some views are new and the others old. Readers can use
 * both, and the next run makes all views again.
 */
async function makeViews(clickhouseUrl: ClickhouseTarget): Promise<void> {
  const client = makeClickhouse(clickhouseUrl, 'padron-migrate', {
    requestTimeoutMs: migrationTimeoutMs,
    connections: 1,
  });
  try {
    for (const view of currentViews()) await client.command({ query: view });
  } catch (error) {
    throw new MigrationError(`ClickHouse views failed: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await client.close();
  }
}
