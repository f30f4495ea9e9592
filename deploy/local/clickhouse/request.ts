import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { failure } from './reply.ts';

/** One request, read from its URL and headers. */
export type QueryRequest = {
  queryId: string;
  /** The query text in the URL. The body continues it. */
  query: string;
  database: string;
  settings: Map<string, string>;
  parameters: Record<string, string>;
  defaultFormat: string;
  hold: boolean;
};

export type Account = { user: string; password: string };

/** Parameters of the URL that are not ClickHouse settings. */
const notSettings = new Set([
  'query',
  'query_id',
  'database',
  'default_format',
  'session_id',
  'session_timeout',
  'session_check',
  'user',
  'password',
  'role',
  'wait_end_of_query',
  'buffer_size',
  'quota_key',
  'stacktrace',
  'close_session',
  'enable_http_compression',
  'send_progress_in_http_headers',
  'http_headers_progress_interval_ms',
  'client_protocol_version',
  'decompress',
  'compress',
]); // prettier-ignore

/**
 * @throws QueryFailure 36 for a parameter that is not supported (compress, decompress, role, session_id); 73 for a bad
 *   format name; 115 for a bad setting name
 */
export function readRequest(message: IncomingMessage, search: URLSearchParams): QueryRequest {
  const settings = new Map<string, string>();
  const parameters: Record<string, string> = {};
  for (const [name, value] of search) {
    if (name.startsWith('param_')) parameters[name.slice('param_'.length)] = value;
    else if (!notSettings.has(name)) settings.set(settingName(name), value);
  }
  for (const name of ['compress', 'decompress', 'role', 'session_id']) {
    if ((search.get(name) ?? '0') !== '0' && search.get(name) !== '')
      throw failure(36, 'BAD_ARGUMENTS', `The parameter ${name} is not supported by the embedded server`);
  }
  return {
    queryId: search.get('query_id') || randomUUID(),
    query: search.get('query') ?? '',
    database: search.get('database') || header(message, 'x-clickhouse-database') || 'default',
    settings,
    parameters,
    defaultFormat: formatName(header(message, 'x-clickhouse-format') || search.get('default_format') || 'TabSeparated'),
    hold: ['1', 'true'].includes(search.get('wait_end_of_query') ?? ''),
  };
}

const header = (message: IncomingMessage, name: string) => String(message.headers[name] ?? '');

/** Checks a format's name, because it becomes part of the query text and of a header. @throws QueryFailure 73 */
function formatName(name: string): string {
  if (/^[A-Za-z0-9]+$/.test(name)) return name;
  throw failure(73, 'UNKNOWN_FORMAT', `Unknown format ${name.slice(0, 50)}`);
}

function settingName(name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_.]*$/.test(name)) return name;
  throw failure(115, 'UNKNOWN_SETTING', `Unknown setting '${name.slice(0, 100)}'`);
}

/** @throws QueryFailure 516 for an unknown user, a wrong password, or a request without credentials */
export function authenticate(message: IncomingMessage, search: URLSearchParams, account: Account): void {
  const given = credentials(message, search);
  const right = given !== undefined && same(given.user, account.user) && same(given.password, account.password);
  if (right) return;
  const name = given?.user ?? 'default';
  throw failure(
    516,
    'AUTHENTICATION_FAILED',
    `${name}: Authentication failed: password is incorrect, or there is no user with such name`,
  );
}

function credentials(message: IncomingMessage, search: URLSearchParams): Account | undefined {
  const basic = /^Basic\s+(.+)$/i.exec(header(message, 'authorization'));
  if (basic !== null) {
    const [user = '', ...password] = Buffer.from(basic[1]!, 'base64').toString('utf8').split(':');
    return { user, password: password.join(':') };
  }
  const user = header(message, 'x-clickhouse-user');
  if (user !== '') return { user, password: header(message, 'x-clickhouse-key') };
  if (search.has('user')) return { user: search.get('user')!, password: search.get('password') ?? '' };
  return undefined;
}

const digest = (text: string) => createHash('sha256').update(text).digest();
const same = (given: string, right: string) => timingSafeEqual(digest(given), digest(right));
