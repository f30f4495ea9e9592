import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectKafka } from '../../../../pipelines/runtime/kafka/connect.ts';
import type { KafkaConnection } from '../../../../pipelines/runtime/kafka/connection.ts';
import { makeLogger } from '../../../../pipelines/runtime/log.ts';
import { checkMaterialised } from '../../../../pipelines/stream/progress.ts';
import { registerNames } from '../../../../schemas/registers.ts';
import { type Authority, makeAuthority } from '../../../support/delivery/authority.ts';
import { clusterLogin, KafkaCluster } from '../../../support/engines/kafka-cluster.ts';
import {
  baseline,
  currentState,
  expectedState,
  freezeTestEdition,
  makeStreamHarness,
  nextDay,
  produceTestEdition,
  type StreamHarness,
} from '../../../support/engines/stream.ts';
import { runCommand } from '../../../support/process/command.ts';

// A broker of Kafka's own with TLS and logins, and the client with right and wrong settings.
const directory = mkdtempSync(join(tmpdir(), 'padron-kafka-'));
const log = makeLogger('test', 'silent');
const names = ['127.0.0.1'];
const dayMs = 86_400_000;
let authority: Authority;
let cluster: KafkaCluster;
let harness: StreamHarness;
const children: ChildProcess[] = [];

beforeAll(async () => {
  authority = await makeAuthority('Kafka');
  const past = { notBefore: new Date(Date.now() - 2 * dayMs), notAfter: new Date(Date.now() - dayMs) };
  cluster = new KafkaCluster({
    ...{ directory, size: 1, authority },
    listeners: [
      { name: 'EXPIRED', protocol: 'SSL', certificate: await authority.issue({ names, ...past }) },
      { name: 'MISNAMED', protocol: 'SSL', certificate: await authority.issue({ names: ['kafka.example'] }) },
      {
        ...{ name: 'MUTUAL', protocol: 'SSL', asksForCertificate: true },
        certificate: await authority.issue({ names }),
      },
      { name: 'PLAIN', protocol: 'PLAINTEXT' },
    ],
  });
  cluster.writeCaFile();
  await cluster.start();
  harness = await makeStreamHarness(inject('endpoints'), registerNames, cluster.connection());
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await harness.close();
  await cluster.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** The cluster's connection with some parts changed. */
const connectionWith = (changed: (good: KafkaConnection) => Partial<KafkaConnection>): KafkaConnection => {
  const good = cluster.connection();
  return { ...good, ...changed(good) };
};
const at = (listener: string) => () => ({ brokers: cluster.brokers(listener), login: undefined });

async function outcomeOf(connection: KafkaConnection): Promise<string> {
  try {
    const connected = await connectKafka(connection, 'test', log);
    const problem = await connected.problem();
    await connected.close();
    return problem ?? 'connected';
  } catch (error) {
    return (error as Error).message;
  }
}

test.each(['scram-sha-256', 'scram-sha-512', 'plain'] as const)('a login by %s over TLS works', async (mechanism) => {
  expect(await outcomeOf(connectionWith(() => ({ login: { mechanism, ...clusterLogin } })))).toBe('connected');
});

const wrongPassword = { username: clusterLogin.username, password: 'equivocada' };
test.each<[string, (good: KafkaConnection) => Partial<KafkaConnection>, RegExp]>([
  [
    'a wrong password',
    () => ({ login: { mechanism: 'scram-sha-512', ...wrongPassword } }),
    /the login by scram-sha-512 is refused \(KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD\)$/,
  ],
  [
    'a wrong password in plain text',
    () => ({ login: { mechanism: 'plain', ...wrongPassword } }),
    /the login by plain is refused/,
  ],
  [
    'no login',
    () => ({ login: undefined }),
    /it closed the connection: it may expect .* a login \(KAFKA_SASL_MECHANISM\)/,
  ],
  ['an expired certificate', at('EXPIRED'), /its certificate has expired \(CERT_HAS_EXPIRED\)/],
  [
    'a certificate for another name',
    at('MISNAMED'),
    /its certificate is for other names .*\(ERR_TLS_CERT_ALTNAME_INVALID\)/,
  ],
  ['an unknown authority', () => ({ tls: {} }), /no trusted authority signed its certificate/],
  ['no certificate of ours', at('MUTUAL'), /it refuses our client certificate/],
  ['plain text to a port with TLS', () => ({ tls: undefined }), /it may expect TLS \(KAFKA_TLS\)/],
  ['TLS to a port without it', at('PLAIN'), /it does not speak TLS at this port, but KAFKA_TLS is set/],
  [
    'a login at a port without logins',
    (good) => ({ brokers: cluster.brokers('PLAIN'), tls: undefined, login: good.login }),
    /it takes no login at this port, but KAFKA_SASL_MECHANISM is set/,
  ],
  [
    'a port where nobody listens',
    () => ({ brokers: '127.0.0.1:1' }),
    /127\.0\.0\.1:1: it does not answer \(ECONNREFUSED\)/,
  ],
])('%s ends in a message with address and reason, and without the password', async (_, changed, message) => {
  const outcome = await outcomeOf(connectionWith(changed));
  expect(outcome).toMatch(message);
  expect(outcome).toMatch(/^Kafka at 127\.0\.0\.1:\d+: /);
  expect(outcome).not.toMatch(/equivocada|secreta/);
});

test('one broker of the list that cannot be used does no harm', async () => {
  const brokers = `127.0.0.1:1,${cluster.brokers('EXPIRED')},${cluster.brokers()}`;
  expect(await outcomeOf(connectionWith(() => ({ brokers })))).toBe('connected');
});

test('a client whose certificate is replaced uses the new one for its next connection', async () => {
  const files = { cert: join(directory, 'client.pem'), key: join(directory, 'client-key.pem') };
  const write = async (by: Authority) => {
    const { certificatePem, keyPem } = await by.issue({ names: ['padron'] });
    writeFileSync(files.cert, certificatePem);
    writeFileSync(files.key, keyPem);
  };
  await write(authority);
  const connection = connectionWith((good) => ({ ...at('MUTUAL')(), tls: { ...good.tls, ...files } }));
  const connected = await connectKafka(connection, 'test', log);
  const fresh = async () => {
    await connected.close(); // the next question opens a new connection
    return connected.problem();
  };
  expect(await fresh()).toBe(null);
  await write(await makeAuthority('Another'));
  expect(await fresh()).toMatch(/refuses our client certificate/);
  await write(authority);
  expect(await fresh()).toBe(null);
  await connected.close();
});

test('tokens of a token service are renewed while a connection lives, and a refused one is said', async () => {
  const part = (object: object) => Buffer.from(JSON.stringify(object)).toString('base64url');
  let given = 0;
  let token = (now: number) => `${part({ alg: 'none' })}.${part({ sub: 'padron', iat: now, exp: now + 12 })}.`;
  const service = createServer((_, response) => {
    given += 1;
    response.end(JSON.stringify({ access_token: token(Math.floor(Date.now() / 1000)), expires_in: 12 }));
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const tokenUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}/token`;
  const login = { mechanism: 'oauthbearer' as const, tokenUrl, clientId: 'padron', clientSecret: 'secreta' };
  const connection = connectionWith(() => ({ login }));
  const { kafka, close, problem } = await connectKafka(connection, 'test', log);
  const admin = kafka.admin();
  await admin.connect();
  const before = given;
  // The client logs in again 10 s before a login ends, so 2 s after it began.
  await expect
    .poll(async () => {
      await admin.listTopics();
      return given;
    })
    .toBeGreaterThan(before + 1);
  expect(await problem()).toBe(null);
  await admin.disconnect();
  await close();
  token = () => 'a.b.c';
  expect(await outcomeOf(connection)).toMatch(/the broker does not accept the token \(KAFKA_OAUTH_…\)|is refused/);
  service.closeAllConnections();
  await new Promise((resolve) => service.close(resolve));
  expect(await outcomeOf(connection)).toMatch(/token service at http:\/\/127.* cannot be reached \(ECONNREFUSED\)/);
});

test('a process with a wrong password ends at its start, and its log says why without the password', async () => {
  const environment = { ...harness.environment, ...cluster.environment(), KAFKA_SASL_PASSWORD: 'equivocada' };
  const { lines, ended } = startConsumers(environment);
  expect(await ended).toBe(1);
  const fatal = lines.map((line) => JSON.parse(line)).find(({ level }) => level === 'fatal');
  expect(fatal.err.message).toMatch(/^Kafka at 127.*: the login by scram-sha-512 is refused/);
  expect(lines.join()).not.toContain('equivocada');
  const command = await runCommand(['editions', 'adopt', '--dry-run'], environment);
  expect(command.stderr).toMatch(
    /^error: Kafka at 127.*: the login by scram-sha-512 is refused .*\.\nCheck the settings of Kafka\.\n$/,
  );
  expect(command.stderr).not.toContain('equivocada');
});

test('a new authority of all certificates loses nothing: the running process waits for its file and goes on', async () => {
  const first = baseline(3_000);
  const second = nextDay(first, 2);
  const { child, lines, ended, url } = startConsumers({ ...harness.environment, ...cluster.environment() });
  const reason = async () => {
    if (child.exitCode !== null) throw new Error(`the consumers ended:\n${lines.join('\n')}`);
    const answer = (await (await fetch(`${await url}/readyz`)).json()) as { reason?: string };
    return answer.reason ?? 'ready';
  };
  const materialised = (edition: number) =>
    expect.poll(() => checkMaterialised(harness, 'padron_reducido', edition)).toBe('materialised');
  await expect.poll(reason).toBe('ready');
  await produceTestEdition(harness, 1, await freezeTestEdition(harness, 1, first));
  await materialised(1);

  cluster.changeAuthority(await makeAuthority('Kafka, next year'));
  await cluster.stopNode(1);
  const changeFile = await freezeTestEdition(harness, 2, second);
  const produced = produceUntilDone(2, changeFile);
  await cluster.startNode(1);
  await expect.poll(reason).toMatch(/^Kafka at 127.*: no trusted authority signed its certificate/);
  expect(lines.join()).toMatch(/"msg":"Kafka at 127[^"]*: no trusted authority signed its certificate/);

  cluster.writeCaFile();
  expect(await produced).toBe(second.length);
  await expect.poll(reason).toBe('ready');
  await materialised(2);
  expect(await currentState(harness)).toEqual(expectedState(first, second));
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
}, 240_000);

/** Produces while Kafka is away too, as the worker does: a failed step is repeated. Returns the number of records. */
async function produceUntilDone(edition: number, changeFile: string): Promise<number> {
  for (;;) {
    try {
      return (await produceTestEdition(harness, edition, changeFile)).rows;
    } catch {
      await sleep(500);
    }
  }
}

function startConsumers(environment: Record<string, string>) {
  const child = spawn(process.execPath, ['--import', 'tsx', 'pipelines/consumers/main.ts'], {
    // There is no Temporal here. The process needs it for wake-ups, but not to start.
    env: { ...environment, TEMPORAL_ADDRESS: '127.0.0.1:1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const lines: string[] = [];
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const url = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      if (line.includes('"listening"')) resolve(`http://127.0.0.1:${JSON.parse(line).healthPort}`);
    });
  });
  return { child, lines, ended, url };
}
