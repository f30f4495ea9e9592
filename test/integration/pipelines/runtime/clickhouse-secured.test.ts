import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  type ClickHouseClient,
  clickhouseAccess,
  clickhouseCheck,
  insertSettings,
  makeClickhouse,
} from '../../../../pipelines/runtime/clickhouse.ts';
import { clickhouseBlock, parseConfiguration } from '../../../../pipelines/runtime/config.ts';
import { askEngine } from '../../../../pipelines/runtime/engines/check.ts';
import { describeError } from '../../../../pipelines/runtime/log.ts';
import { migrateClickhouse } from '../../../../pipelines/runtime/migrate.ts';
import { type FreshClickhouseDatabase, freshClickhouseDatabase } from '../../../support/engines/isolation.ts';
import { makeCertificates, PemFolder, startHttpRelay, type TlsRelay } from '../../../support/engines/tls-relay.ts';

// The local ClickHouse, which checks user and password itself, behind a relay that speaks TLS.
const pem = new PemFolder();
let certificates: Awaited<ReturnType<typeof makeCertificates>>;
let database: FreshClickhouseDatabase;
let relay: TlsRelay;
let ca: string;
const clients: ClickHouseClient[] = [];

beforeAll(async () => {
  certificates = await makeCertificates();
  ca = pem.write('ca.pem', certificates.authority.caPem);
  database = await freshClickhouseDatabase(inject('endpoints'));
  relay = await startHttpRelay(database.CLICKHOUSE_URL, { certificate: certificates.right });
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await relay.stop();
  await database.drop();
  pem.remove();
});

const login = new URL(inject('endpoints').CLICKHOUSE_URL);
const access = (changes: Record<string, string> = {}) =>
  clickhouseAccess(
    parseConfiguration(clickhouseBlock, {
      CLICKHOUSE_URL: `https://127.0.0.1:${relay.port}/${database.database}`,
      CLICKHOUSE_CA_FILE: ca,
      CLICKHOUSE_USERNAME: decodeURIComponent(login.username),
      CLICKHOUSE_PASSWORD: decodeURIComponent(login.password),
      ...changes,
    }),
  );
function clientOf(target = access()): ClickHouseClient {
  const client = makeClickhouse(target, 'test', { requestTimeoutMs: 10_000, connections: 2 });
  clients.push(client);
  return client;
}
const ask = (target = access()) => askEngine(clickhouseCheck(target, clientOf(target)), 10_000);

test('migrations and queries pass through TLS with user and password outside of the address', async () => {
  await ask();
  await migrateClickhouse(access());
  const client = clientOf();
  const values = [{ ruc: '20990000019', register: 1, version: '1', is_deleted: 0, row: '[]' }];
  await client.insert({ table: 'taxpayer', format: 'JSONEachRow', values, clickhouse_settings: insertSettings });
  const rows = await client.query({ query: 'SELECT toString(ruc) AS ruc FROM taxpayer', format: 'JSONEachRow' });
  expect(await rows.json()).toEqual([{ ruc: '20990000019' }]);
});

test.each([
  ['a wrong password', { CLICKHOUSE_PASSWORD: 'clave-secreta' }, 'it refuses the user, password or token (516)'],
  ['a missing CA', { CLICKHOUSE_CA_FILE: '' }, 'no trusted authority signed its certificate'],
])('%s is named with engine, address and reason, without the secret', async (_, changes, reason) => {
  const error = (await ask(access(changes)).catch((caught: unknown) => caught)) as Error;
  expect(error).toMatchObject({ engine: 'ClickHouse', kind: 'refused' });
  expect(error.message).toContain(`ClickHouse at https://127.0.0.1:${relay.port}/${database.database}: ${reason}`);
  const failed = (await migrateClickhouse(access(changes)).catch((caught: unknown) => caught)) as Error;
  for (const text of [JSON.stringify(describeError(error)), JSON.stringify(describeError(failed))]) {
    expect(text).not.toContain('clave-secreta');
    expect(text).not.toContain(decodeURIComponent(login.password));
  }
});

test.each([
  ['an expired certificate', () => certificates.expired, 'its certificate has expired (CERT_HAS_EXPIRED)'],
  ['a certificate for another name', () => certificates.wrongName, 'its certificate is for other names'],
])('%s is refused, and the connection works again once it is replaced', async (_, certificate, reason) => {
  relay.present(certificate());
  await expect(ask()).rejects.toThrow(reason);
  relay.present(certificates.right);
  await ask();
});

test('while the authority changes, every insert is kept and the client takes the new file by itself', async () => {
  const changing = pem.write('changing.pem', certificates.authority.caPem);
  const client = clientOf(access({ CLICKHOUSE_CA_FILE: changing }));
  await client.command({ query: 'CREATE TABLE numbers (number UInt32) ENGINE = MergeTree ORDER BY number' });
  const insert = (number: number) =>
    client.insert({
      table: 'numbers',
      format: 'JSONEachRow',
      values: [{ number }],
      clickhouse_settings: insertSettings,
    });
  // As the consumers do, each insert is repeated until it is acknowledged.
  const insertUntilKept = async (number: number) => {
    await expect
      .poll(() =>
        insert(number).then(
          () => 'kept',
          (error: Error) => error.message,
        ),
      )
      .toBe('kept');
  };
  await insertUntilKept(1);
  const other = await certificates.otherAuthority.issue({ names: ['127.0.0.1'] });
  relay.present(other);
  relay.breakConnections();
  await expect(insert(2)).rejects.toThrow();
  const kept = insertUntilKept(2);
  pem.write('changing.pem', certificates.otherAuthority.caPem);
  await kept;
  relay.present(certificates.right);
  const rows = await clientOf().query({
    query: 'SELECT DISTINCT number FROM numbers ORDER BY number',
    format: 'JSONEachRow',
  });
  expect(await rows.json()).toEqual([{ number: 1 }, { number: 2 }]);
});

test('the password stands neither in the query log nor in the address of a request', async () => {
  const asked: string[] = [];
  const watching = await startHttpRelay(database.CLICKHOUSE_URL, {
    certificate: certificates.right,
    seen: (path) => asked.push(path),
  });
  const target = access({ CLICKHOUSE_URL: `https://127.0.0.1:${watching.port}/${database.database}` });
  await (await clientOf(target).query({ query: 'SELECT 1', format: 'JSONEachRow' })).json();
  expect(asked).toHaveLength(1);
  expect(asked[0]).not.toContain(decodeURIComponent(login.password));
  expect(asked[0]).not.toMatch(/user|password/i);
  await watching.stop();
});

test('user and password are set together and only once', () => {
  expect(() => access({ CLICKHOUSE_PASSWORD: '' })).toThrow(
    'CLICKHOUSE_PASSWORD: is needed beside CLICKHOUSE_USERNAME',
  );
  expect(() => access({ CLICKHOUSE_URL: 'https://padron:clave@ch/padron' })).toThrow(
    'CLICKHOUSE_USERNAME: CLICKHOUSE_URL also holds a user; leave one out',
  );
});
