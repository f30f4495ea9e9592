import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { CommandError } from '../../../../deploy/cli/context.ts';
import { explain } from '../../../../deploy/cli/failures.ts';
import { notFound } from '../../../../pipelines/archive/archive.ts';
import { makeClickhouse } from '../../../../pipelines/runtime/clickhouse.ts';
import { engineError } from '../../../../pipelines/runtime/engines/failure.ts';
import { connectKafka } from '../../../../pipelines/runtime/kafka/connect.ts';
import { makeLogger } from '../../../../pipelines/runtime/log.ts';
import { migrateClickhouse } from '../../../../pipelines/runtime/migrate.ts';
import { makePool } from '../../../../pipelines/runtime/postgres.ts';

/** A port on which nothing listens. */
async function deadPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const requests: Record<string, (port: number) => Promise<unknown>> = {
  PostgreSQL: (port) => makePool(`postgres://u:secret@127.0.0.1:${port}/x`, 'test', 1).query('SELECT 1'),
  'PostgreSQL by a name with two addresses': (port) =>
    makePool(`postgres://u:secret@localhost:${port}/x`, 'test', 1).query('SELECT 1'),
  Kafka: (port) => connectKafka({ brokers: `127.0.0.1:${port}` }, 'test', makeLogger('test', 'fatal')),
  ClickHouse: (port) =>
    makeClickhouse(`http://u:secret@127.0.0.1:${port}/x`, 'test', { requestTimeoutMs: 20_000, connections: 1 }).query({
      query: 'SELECT 1',
    }),
  "ClickHouse's migrations": (port) => migrateClickhouse(`http://u:secret@127.0.0.1:${port}/x`),
};

test.each(Object.entries(requests))(
  '%s that does not answer is named by its address, with advice',
  async (_, request) => {
    const port = await deadPort();
    const said = explain(await request(port).catch((error: unknown) => error));
    expect(said).toMatch(new RegExp(`^error: Nothing answers at (127.0.0.1|::1):${port} \\(ECONNREFUSED\\)\\.\nStart`));
  },
);

test('an error for the operator is its message and its advice', () => {
  expect(explain(new CommandError('There is no account 7.', 'See them with: npx padron accounts list'))).toBe(
    'error: There is no account 7.\nSee them with: npx padron accounts list',
  );
  expect(explain(new CommandError('Nothing is written to a file.'))).toBe('error: Nothing is written to a file.');
});

test('a database without our tables or our schema asks for the migrations', () => {
  for (const code of ['42P01', '3F000']) {
    expect(explain(Object.assign(new Error('relation "account" does not exist'), { code }))).toBe(
      'error: The database has no tables of this service.\nRun `npx padron migrate` first.',
    );
  }
});

test('a file that the archive lost or damaged is named, with what brings it back', () => {
  const name = { register: 'padron_reducido', kind: 'changes', sha256: 'ab'.repeat(32) } as const;
  expect(explain(notFound(name))).toBe(
    `error: the archive has no padron_reducido/changes/${name.sha256}. (not_found)\n` +
      'Bring the right file back: the last part of its name is its SHA-256.',
  );
});

const refused = (fields: object) =>
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', ...fields });

test.each([
  [
    'an address and a port',
    refused({ address: '10.0.0.1', port: 5432 }),
    'Nothing answers at 10.0.0.1:5432 (ECONNREFUSED).',
  ],
  ['a broker', refused({ broker: 'kafka:9092' }), 'Nothing answers at kafka:9092 (ECONNREFUSED).'],
  ['no place', refused({}), 'An engine does not answer (ECONNREFUSED).'],
  [
    'a cause',
    new Error('fetch failed', { cause: refused({ address: '10.0.0.2', port: 1 }) }),
    'Nothing answers at 10.0.0.2:1 (ECONNREFUSED).',
  ],
  [
    'an address of several',
    new AggregateError([refused({ address: '::1', port: 2 })], ''),
    'Nothing answers at ::1:2 (ECONNREFUSED).',
  ],
  [
    'an unknown name',
    Object.assign(new Error('x'), { code: 'ENOTFOUND', hostname: 'ch.internal' }),
    'Nothing answers at ch.internal (ENOTFOUND).',
  ],
  ['only a time that is over', new Error('timeout exceeded when trying to connect'), 'The database does not answer.'],
])('an engine that does not answer, with %s', (_, error, message) => {
  const advice = 'Start the stack with `npm start`, or check the addresses in the environment.';
  expect(explain(error)).toBe(`error: ${message}\n${advice}`);
});

test('any other error keeps its words and its code, and never its stack', () => {
  expect(explain(Object.assign(new Error('canceling statement'), { code: '57014' }))).toBe(
    'error: canceling statement (57014)',
  );
  expect(explain(new TypeError())).toBe('error: TypeError');
  expect(explain('half')).toBe('error: half');
});

test('an engine that refuses a setting is named, or the command that asks all engines', () => {
  const cause = Object.assign(new Error('x'), { code: 'CERT_HAS_EXPIRED' });
  expect(explain(engineError('schema registry', 'https://r:8081', cause))).toBe(
    'error: schema registry at https://r:8081: its certificate has expired (CERT_HAS_EXPIRED).\n' +
      'Check the settings of schema registry.',
  );
  const refused = Object.assign(new Error('password authentication failed for user "u"'), { code: '28P01' });
  expect(explain(refused)).toMatch(/^error: password authentication failed.* \(28P01\)\n.*`npx padron engines`/);
});
