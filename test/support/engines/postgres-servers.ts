import { execFile } from 'node:child_process';
import { appendFileSync, chownSync, copyFileSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { repositoryRoot } from '../../../deploy/local/config.ts';
import { waitUntil } from '../../../deploy/local/demo/output.ts';
import { type Stack, startStack } from '../../../deploy/local/stack.ts';

const run = promisify(execFile);

/** A server's file with the passwords of its accounts, in its folder. */
export const credentialsFile = 'credentials.json';

/** A PostgreSQL server of its own, in a folder of its own. */
export interface PostgresServer {
  /** Address of the database `padron`. */
  url: string;
  directory: string;
  stack: Stack;
}

export async function startServer(directory: string): Promise<PostgresServer> {
  const stack = await startStack({ directory, engines: ['postgres'], addresses: {} });
  return { url: stack.endpoints.DATABASE_URL, directory, stack };
}

export function dataFolder(directory: string): string {
  return path.join(directory, 'postgres');
}

/** Runs statements over one new connection, and returns the rows of the last one. */
export async function onServer<Row extends pg.QueryResultRow>(url: string, ...statements: string[]): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    let rows: Row[] = [];
    for (const statement of statements) rows = (await client.query<Row>(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

/**
 * Copies a running server's files into a tar file, as pg_basebackup would. The copy alone is of no moment: together
 * with the WAL written meanwhile it is the state at the end of the backup.
 */
export async function baseBackup({ url, directory }: PostgresServer, tarFile: string, label: string): Promise<void> {
  const data = dataFolder(directory);
  const { uid, gid } = statSync(data);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('SELECT pg_backup_start($1, true)', [label]);
    const left = ['postmaster.pid', 'postmaster.opts', 'pg_wal/*', 'pg_replslot/*'];
    const excluded = left.map((name) => `--exclude=./${name}`);
    // Exit code 1 means that a file changed or disappeared while it was read, as is usual here.
    await run('tar', ['-C', data, ...excluded, '-cf', tarFile, '.']).catch((error: { code?: number }) => {
      if (error.code !== 1) throw error;
    });
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(true)');
    const folder = `${tarFile}.label`;
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'backup_label'), rows[0]!.labelfile);
    const owner = [`--owner=${uid}`, `--group=${gid}`, '--numeric-owner'];
    await run('tar', ['-C', folder, ...owner, '-rf', tarFile, './backup_label']);
    rmSync(folder, { recursive: true });
  } finally {
    await client.end();
  }
}

/** Unpacks a base backup as the data folder of a server that does not exist yet. `signal` is an empty file in it. */
export async function unpackBackup(
  tarFile: string,
  directory: string,
  signal: 'standby.signal' | 'recovery.signal',
  settings: Record<string, string>,
): Promise<void> {
  const data = dataFolder(directory);
  mkdirSync(data, { recursive: true, mode: 0o700 });
  await run('tar', ['-C', data, '--numeric-owner', '-xpf', tarFile]);
  const { uid, gid } = statSync(path.join(data, 'PG_VERSION'));
  for (const file of [data, path.join(data, signal)]) {
    if (file !== data) writeFileSync(file, '');
    if (process.getuid?.() === 0) chownSync(file, uid, gid);
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`);
  appendFileSync(path.join(data, 'postgresql.auto.conf'), lines.join(''));
}

/** What an operator keeps of a server on other machines. */
export interface KeptServer {
  /** Tar file of the base backup. */
  base: string;
  /** Folder of the archived WAL. */
  wal: string;
  /** File with the passwords of the server's accounts. */
  credentials: string;
}

/** Lets the server archive its WAL by the program that operators use, and keeps its passwords. */
export async function archiveWal(server: PostgresServer, kept: KeptServer): Promise<void> {
  const program = path.join(repositoryRoot, 'deploy', 'backup', 'archive-wal');
  await onServer(
    server.url,
    `ALTER SYSTEM SET archive_mode = 'on'`,
    `ALTER SYSTEM SET archive_timeout = 60`,
    `ALTER SYSTEM SET archive_command = '"${program}" %p %f "${kept.wal}"'`,
  );
  await server.stack.restart('postgres');
  copyFileSync(path.join(server.directory, credentialsFile), kept.credentials);
}

/** Ends the present WAL file, and resolves when it is archived. */
export async function archiveLastWal({ url }: PostgresServer): Promise<void> {
  const [last] = await onServer<{ file: string }>(url, 'SELECT pg_walfile_name(pg_switch_wal()) AS file');
  const isArchived = `SELECT coalesce(last_archived_wal >= '${last!.file}', false) AS is FROM pg_stat_archiver`;
  await untilTrue(url, isArchived, 'the last WAL file is archived');
}

/**
 * Starts a server from what was kept, in an empty folder. Resolves when it takes writes.
 * @param target settings that end the recovery early; without them it takes all archived WAL
 */
export async function recoverServer(
  kept: KeptServer,
  directory: string,
  target: Record<string, string> = {},
): Promise<PostgresServer> {
  mkdirSync(directory);
  copyFileSync(kept.credentials, path.join(directory, credentialsFile));
  const settings = { restore_command: `cp "${kept.wal}/%f" "%p"`, ...target };
  await unpackBackup(kept.base, directory, 'recovery.signal', settings);
  const server = await startServer(directory);
  await untilTrue(server.url, 'SELECT NOT pg_is_in_recovery() AS is', 'the server has recovered');
  return server;
}

const settleMs = 300_000;

async function untilTrue(url: string, question: string, what: string): Promise<void> {
  const isSo = async () => (await onServer<{ is: boolean }>(url, question))[0]!.is;
  if (!(await waitUntil(isSo, settleMs))) throw new Error(`not within ${settleMs / 1_000} s: ${what}`);
}

const standbyName = 'standby';

/**
 * Starts a standby that streams from the primary, which then waits with every commit until the standby has stored it.
 * So everything that was committed survives the primary.
 */
export async function addStandby(primary: PostgresServer, directory: string): Promise<PostgresServer> {
  mkdirSync(directory, { recursive: true });
  const tarFile = path.join(directory, 'base.tar');
  await baseBackup(primary, tarFile, 'standby');
  const { hostname, port, username, password } = new URL(primary.url);
  const source = { host: hostname, port, user: username, password, application_name: standbyName };
  await unpackBackup(tarFile, directory, 'standby.signal', {
    primary_conninfo: Object.entries(source)
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
    synchronous_standby_names: '',
  });
  rmSync(tarFile);
  // Both servers have the same accounts, so they need the same passwords.
  copyFileSync(path.join(primary.directory, credentialsFile), path.join(directory, credentialsFile));
  const standby = await startServer(directory);
  await onServer(
    primary.url,
    `ALTER SYSTEM SET synchronous_standby_names = '${standbyName}'`,
    'SELECT pg_reload_conf()',
  );
  for (let isSynchronous = false; !isSynchronous; await sleep(100)) {
    const rows = await onServer(primary.url, "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'");
    isSynchronous = rows.length > 0;
  }
  return standby;
}

/** Makes a standby the primary. Resolves when it takes writes. */
export async function promote({ url }: PostgresServer): Promise<void> {
  const [row] = await onServer<{ promoted: boolean }>(url, 'SELECT pg_promote(true, 60) AS promoted');
  if (row?.promoted !== true) throw new Error('the standby was not promoted within 60 s');
}
