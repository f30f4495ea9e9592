import { X509Certificate } from 'node:crypto';
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Certificate } from '../../../../deploy/local/demo/receiver.ts';
import { type Stack, startStack } from '../../../../deploy/local/stack.ts';
import { databaseBlock, parseConfiguration } from '../../../../pipelines/runtime/config.ts';
import { askEngine } from '../../../../pipelines/runtime/engines/check.ts';
import { migratePostgres } from '../../../../pipelines/runtime/migrate.ts';
import { databaseCheck, inTransaction, makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import type { Authority } from '../../../support/delivery/authority.ts';
import { makeCertificates, PemFolder } from '../../../support/engines/tls-relay.ts';

// A PostgreSQL server of its own, which speaks TLS itself and lets one of its databases in only with a client certificate.
const pem = new PemFolder();
const pools: Pool[] = [];
let certificates: Awaited<ReturnType<typeof makeCertificates>>;
let folder: string;
let stack: Stack;
let ca: string;

beforeAll(async () => {
  certificates = await makeCertificates();
  ca = pem.write('ca.pem', certificates.authority.caPem);
  folder = mkdtempSync(join(tmpdir(), 'padron-tls-'));
  stack = await startStack({ directory: folder, engines: ['postgres'], log: () => {} });
  await runSql('CREATE DATABASE guarded');
  const rules = join(folder, 'postgres', 'pg_hba.conf');
  const guarded = 'hostssl guarded all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n';
  writeFileSync(rules, guarded + readFileSync(rules, 'utf8'));
  await present(certificates.right);
});
afterAll(async () => {
  for (const pool of pools) await pool.end();
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
  pem.remove();
});

async function runSql(...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: stack.endpoints.DATABASE_URL });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/** Has the server present this certificate to new connections and trust the clients of this authority. */
async function present({ certificatePem, keyPem }: Certificate, clients: Authority = certificates.authority) {
  const data = join(folder, 'postgres');
  const { uid, gid } = statSync(data);
  for (const [name, text] of Object.entries({ crt: certificatePem, key: keyPem, ca: clients.caPem })) {
    const file = join(data, `server.${name}`);
    writeFileSync(file, text);
    chmodSync(file, 0o600);
    chownSync(file, uid, gid);
  }
  await runSql(
    "ALTER SYSTEM SET ssl_cert_file = 'server.crt'",
    "ALTER SYSTEM SET ssl_key_file = 'server.key'",
    "ALTER SYSTEM SET ssl_ca_file = 'server.ca'",
    'ALTER SYSTEM SET ssl = on',
    'SELECT pg_reload_conf()',
  );
  // The server reads its files again a moment after it was asked to.
  const serial = new X509Certificate(certificatePem).serialNumber;
  await vi.waitUntil(async () => (await presentedSerial()) === serial, { timeout: 30_000 });
}

/** The serial number of the certificate that a new connection gets, or null without TLS. */
async function presentedSerial(): Promise<string | null> {
  const client = new pg.Client({ connectionString: stack.endpoints.DATABASE_URL, ssl: { rejectUnauthorized: false } });
  try {
    await client.connect();
    const { stream } = (client as unknown as { connection: { stream: TLSSocket } }).connection;
    return stream.getPeerX509Certificate?.()?.serialNumber ?? null;
  } catch {
    return null;
  } finally {
    await client.end().catch(() => {});
  }
}

function address(parameters: Record<string, string>, changes: { database?: string; password?: string } = {}): string {
  const url = new URL(stack.endpoints.DATABASE_URL);
  if (changes.password !== undefined) url.password = changes.password;
  if (changes.database !== undefined) url.pathname = `/${changes.database}`;
  url.search = new URLSearchParams({ sslmode: 'verify-full', ...parameters }).toString();
  return parseConfiguration(databaseBlock, { DATABASE_URL: url.href }).DATABASE_URL;
}
function poolOf(url: string): Pool {
  const pool = makePool(url, 'test', 4);
  pools.push(pool);
  return pool;
}
const ask = (url: string) => askEngine(databaseCheck(url, poolOf(url)), 10_000);

test('verify-full opens the database over TLS, for migrations too', async () => {
  const url = address({ sslrootcert: ca });
  await ask(url);
  const used = await poolOf(url).query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
  expect(used.rows).toEqual([{ ssl: true }]);
  expect((await migratePostgres(url)).length).toBeGreaterThan(3);
});

test('a wrong password is named with engine, address and reason, without the secret', async () => {
  const url = address({ sslrootcert: ca }, { password: 'clave-secreta' });
  const error = (await ask(url).catch((caught: unknown) => caught)) as Error;
  const { host } = new URL(url);
  expect(error.message).toBe(`PostgreSQL at postgres://${host}/padron: it refuses the user, password or token (28P01)`);
});

test('a missing CA, an expired certificate and one for another name are refused until they are mended', async () => {
  await expect(ask(address({}))).rejects.toThrow('no trusted authority signed its certificate');
  for (const [certificate, reason] of [
    [certificates.expired, 'its certificate has expired (CERT_HAS_EXPIRED)'],
    [certificates.wrongName, 'its certificate is for other names'],
  ] as const) {
    await present(certificate);
    await expect(ask(address({ sslrootcert: ca }))).rejects.toThrow(reason);
  }
  await present(certificates.right);
  await ask(address({ sslrootcert: ca }));
});

test('a database that asks for a client certificate refuses other ones and takes the right one', async () => {
  const files = (certificate: Certificate, name: string) => ({
    sslrootcert: ca,
    sslcert: pem.write(`${name}.pem`, certificate.certificatePem),
    sslkey: pem.write(`${name}.key`, certificate.keyPem),
  });
  const guarded = { database: 'guarded' };
  await ask(address(files(certificates.client, 'right'), guarded));
  await expect(ask(address({ sslrootcert: ca }, guarded))).rejects.toThrow(/PostgreSQL at .*guarded: .*\(28000\)/);
  await expect(ask(address(files(certificates.otherClient, 'wrong'), guarded))).rejects.toThrow(
    'it refuses our client certificate',
  );
});

test('while both sides change their authority, a running pool loses no committed row', async () => {
  const { authority, otherAuthority, client, right } = certificates;
  const url = address(
    {
      sslrootcert: pem.write('rotating-ca.pem', authority.caPem),
      sslcert: pem.write('rotating.pem', client.certificatePem),
      sslkey: pem.write('rotating.key', client.keyPem),
    },
    { database: 'guarded' },
  );
  const pool = poolOf(url);
  await pool.query('CREATE TABLE kept (number int PRIMARY KEY)');
  const write = (number: number) =>
    inTransaction(pool, (session) => session.query('INSERT INTO kept VALUES ($1) ON CONFLICT DO NOTHING', [number]));
  await write(1);
  const [server, own] = await Promise.all([
    otherAuthority.issue({ names: ['127.0.0.1'] }),
    otherAuthority.issue({ names: ['padron'] }),
  ]);
  await present(server, otherAuthority);
  await runSql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'guarded'");
  await expect
    .poll(() => write(2).catch((error: Error & { code: string }) => error.code))
    .toMatch(/SELF_SIGNED|UNABLE/);
  pem.write('rotating.key', own.keyPem);
  pem.write('rotating.pem', own.certificatePem);
  pem.write('rotating-ca.pem', otherAuthority.caPem);
  await write(2);
  expect((await pool.query('SELECT number FROM kept ORDER BY number')).rows).toEqual([{ number: 1 }, { number: 2 }]);
  await present(right);
});

test('a file that is missing for a while fails connections, and does not end the process', async () => {
  const passing = pem.write('passing-ca.pem', certificates.authority.caPem);
  const url = address({ sslrootcert: passing });
  const pool = makePool(url, 'test', 1);
  pools.push(pool);
  rmSync(passing);
  await expect(askEngine(databaseCheck(url, pool), 10_000)).rejects.toThrow(`cannot read ${passing} (ENOENT)`);
  // Further callers wait for the only connection, which the pool then makes by itself.
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => pool.query('SELECT 1')));
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  pem.write('passing-ca.pem', certificates.authority.caPem);
  await askEngine(databaseCheck(url, pool), 10_000);
});

test('settings that cannot work are named before anything connects', () => {
  expect(() => address({ sslmode: 'always' })).toThrow('DATABASE_URL: sslmode must be one of disable, no-verify');
  expect(() => address({ sslrootcert: '/no/such/ca.pem' })).toThrow('cannot read /no/such/ca.pem (ENOENT)');
});
