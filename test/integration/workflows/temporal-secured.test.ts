import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { parseConfiguration, temporalBlock } from '../../../pipelines/runtime/config.ts';
import { askEngine } from '../../../pipelines/runtime/engines/check.ts';
import { makeLazyTemporal, makeTemporal, temporalAccess, temporalCheck } from '../../../pipelines/runtime/temporal.ts';
import { connectNative, followCertificates } from '../../../workflows/temporal-connection.ts';
import { startGrpcRelay } from '../../support/engines/grpc-relay.ts';
import { freshNamespace } from '../../support/engines/isolation.ts';
import { quietTemporal } from '../../support/engines/temporal.ts';
import { makeCertificates, PemFolder, type TlsRelay } from '../../support/engines/tls-relay.ts';

// The local Temporal behind a relay that speaks TLS and checks certificates and API keys.
const apiKey = 'api-s3creto';
const pem = new PemFolder();
let certificates: Awaited<ReturnType<typeof makeCertificates>>;
let relay: TlsRelay;
let ca: string;
let namespace: string;
const clients: { connection: { close(): Promise<void> } }[] = [];

beforeAll(async () => {
  quietTemporal();
  certificates = await makeCertificates();
  ca = pem.write('ca.pem', certificates.authority.caPem);
  namespace = await freshNamespace(inject('endpoints'));
  relay = await startGrpcRelay(inject('endpoints').TEMPORAL_ADDRESS, {
    certificate: certificates.right,
    authorize: (authorization) => authorization === `Bearer ${apiKey}`,
  });
});
afterAll(async () => {
  for (const { connection } of clients) await connection.close();
  await relay.stop();
  pem.remove();
});

const access = (changes: Record<string, string> = {}) => {
  const config = parseConfiguration(temporalBlock, {
    TEMPORAL_ADDRESS: `127.0.0.1:${relay.port}`,
    TEMPORAL_TLS: '1',
    TEMPORAL_TLS_CA_FILE: ca,
    TEMPORAL_API_KEY: apiKey,
    ...changes,
  });
  return temporalAccess(config.TEMPORAL_ADDRESS, config);
};
const ask = (changes?: Record<string, string>, name = namespace) => {
  const target = access(changes);
  const client = makeLazyTemporal(target, name);
  clients.push(client);
  return askEngine(temporalCheck(target, client), 10_000);
};

test('the API client and a worker do a workflow over TLS with an API key', async () => {
  await ask();
  const client = await makeTemporal(access(), namespace);
  clients.push(client as never);
  const native = await connectNative(access());
  const worker = await Worker.create({
    connection: native,
    namespace,
    taskQueue: 'secured',
    workflowsPath,
    activities,
  });
  const result = await worker.runUntil(
    client.workflow.execute('greet', { taskQueue: 'secured', workflowId: 'one', args: ['a'] }),
  );
  expect(result).toBe('hello a');
  await native.close();
});

const workflowsPath = new URL('../../support/engines/greet-workflow.ts', import.meta.url).pathname;
const activities = { greeting: async (name: string) => `hello ${name}` };

test.each([
  ['a wrong API key', { TEMPORAL_API_KEY: 'otra-clave' }, 'it refuses the user, password or token (grpc_16)'],
  ['a missing CA', { TEMPORAL_TLS_CA_FILE: '' }, 'no trusted authority signed its certificate'],
  ['a wrong server name', { TEMPORAL_TLS_SERVER_NAME: 'temporal.example' }, 'its certificate is for other names'],
])('%s is named with engine, address and reason, without the secret', async (_, changes, reason) => {
  const error = (await ask(changes).catch((caught: unknown) => caught)) as Error;
  expect(error.message).toContain(`Temporal at 127.0.0.1:${relay.port}: ${reason}`);
  expect(error).toMatchObject({ engine: 'Temporal', kind: 'refused' });
  expect(error.message).not.toMatch(/s3creto|otra-clave/);
});

test('a namespace that does not exist is named', async () => {
  await expect(ask({}, 'no-such-namespace')).rejects.toThrow('it has no such namespace (grpc_5)');
});

test.each([
  ['an expired certificate', () => certificates.expired, {}, 'its certificate has expired (CERT_HAS_EXPIRED)'],
  ['a certificate for another name', () => certificates.wrongName, {}, 'its certificate is for other names'],
])('%s is refused, and the connection works again once it is replaced', async (_, certificate, changes, reason) => {
  relay.present(certificate());
  await expect(ask(changes)).rejects.toThrow(reason);
  relay.present(certificates.right);
  await ask();
});

test('a server name of its own opens a server whose certificate has that name', async () => {
  relay.present(certificates.wrongName);
  await ask({ TEMPORAL_TLS_SERVER_NAME: 'engine.example' });
  relay.present(certificates.right);
});

test('certificates that are replaced while a worker runs lose no workflow', async () => {
  const files = {
    TEMPORAL_TLS_CA_FILE: pem.write('rotating-ca.pem', certificates.authority.caPem),
    TEMPORAL_TLS_CERT_FILE: pem.write('rotating.pem', certificates.client.certificatePem),
    TEMPORAL_TLS_KEY_FILE: pem.write('rotating.key', certificates.client.keyPem),
  };
  const target = access(files);
  relay.demandClients(certificates.authority, certificates.right);
  const client = await makeTemporal(target, namespace);
  clients.push(client as never);
  const native = await connectNative(target);
  const taskQueue = 'rotated';
  const worker = await Worker.create({ connection: native, namespace, taskQueue, workflowsPath, activities });
  const stopFollowing = followCertificates(target, [worker], pino({ level: 'silent' }), 100);
  const greet = (name: string) =>
    client.workflow.execute('greet', {
      taskQueue,
      workflowId: name,
      args: [name],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
    });
  await worker.runUntil(async () => {
    expect(await greet('before')).toBe('hello before');
    // Both sides change their authority, and the server breaks what is open.
    const [server, own] = await Promise.all([
      certificates.otherAuthority.issue({ names: ['127.0.0.1'] }),
      certificates.otherAuthority.issue({ names: ['padron'] }),
    ]);
    relay.demandClients(certificates.otherAuthority, server);
    relay.breakConnections();
    pem.write('rotating.key', own.keyPem);
    pem.write('rotating.pem', own.certificatePem);
    pem.write('rotating-ca.pem', certificates.otherAuthority.caPem);
    expect(await greet('after')).toBe('hello after');
  });
  await stopFollowing();
  await native.close();
});
