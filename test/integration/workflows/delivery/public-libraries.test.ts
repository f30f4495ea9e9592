import { spawnSync } from 'node:child_process';
import { Webhook } from 'standardwebhooks';
import type { Dispatcher } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Notice } from '../../../../deploy/local/demo/receiver.ts';
import { makeEgressDispatcher } from '../../../../pipelines/runtime/egress/dispatcher.ts';
import { makeWebhookSecret } from '../../../../pipelines/runtime/secrets.ts';
import { sendAttempt } from '../../../../workflows/delivery/attempt.ts';
import { defaultDeliverySettings } from '../../../../workflows/delivery/worker.ts';
import { type Authority, makeAuthority } from '../../../support/delivery/authority.ts';
import { claimedDelivery, targetAt } from '../../../support/delivery/claimed-delivery.ts';
import { type ProgrammedReceiver, startProgrammedReceiver } from '../../../support/delivery/receiver.ts';
import { type Python, pythonWithPackages } from '../../../support/process/python-packages.ts';

// The bytes and headers as a receiver gets them, checked by the two libraries that most receivers use.
const bodies = [
  '{"evento":"ruc.nombre_cambiado","datos":{"despues":"ÑANDÚ & CÍA. S.A.C."}}',
  '{"a":"\\u2028 😀","n":12345678901234567890}',
  '{"evento":"ping","datos":null}',
];
let authority: Authority;
let receiver: ProgrammedReceiver;
let dispatcher: Dispatcher;
let python: Python;

beforeAll(async () => {
  python = await pythonWithPackages('standardwebhooks');
  authority = await makeAuthority('Test authority');
  receiver = await startProgrammedReceiver(authority);
  const policy = { allowPrivateTargets: true, extraCaPem: authority.caPem };
  dispatcher = makeEgressDispatcher(policy, defaultDeliverySettings.egress);
});
afterAll(async () => {
  await dispatcher.destroy();
  await receiver.close();
});

async function send(body: string, secrets: readonly string[]): Promise<Notice> {
  const { exchange: limits, schedule } = defaultDeliverySettings;
  const parts = { dispatcher, policy: { allowPrivateTargets: true }, limits, schedule, version: '1.0.0' };
  const before = receiver.notices.length;
  const delivery = claimedDelivery({ id: `en_${before}`, event: 'ping', payload: body });
  const result = await sendAttempt(parts, targetAt(`${receiver.origin}/avisos`), secrets, delivery);
  expect(result).toMatchObject({ success: true, httpStatus: 204 });
  return receiver.notices[before]!;
}

interface Candidate {
  secret: string;
  raw: Buffer;
  headers: Record<string, string>;
}

function verifiedInJavaScript({ secret, raw, headers }: Candidate): boolean {
  try {
    new Webhook(secret).verify(raw, headers);
    return true;
  } catch {
    return false;
  }
}

function verifiedInPython(candidates: readonly Candidate[]): boolean[] {
  const input = candidates
    .map(({ secret, raw, headers }) => JSON.stringify({ secret, headers, body: raw.toString('base64') }))
    .join('\n');
  const script = new URL('./verify_notices.py', import.meta.url).pathname;
  const run = spawnSync(python.program, [script], { input, env: python.environment, encoding: 'utf8' });
  expect(run.stderr).toBe('');
  return run.stdout
    .trimEnd()
    .split('\n')
    .map((line) => line === 'verified');
}

it('every live secret verifies in both libraries; another secret, body or id, or an old time, in neither', async () => {
  const [newest, older, stranger] = [makeWebhookSecret(), makeWebhookSecret(), makeWebhookSecret()];
  const good: Candidate[] = [];
  const bad: Candidate[] = [];
  for (const body of bodies) {
    const { raw, headers: all } = await send(body, [newest, older]);
    const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
    const headers = Object.fromEntries(names.map((name) => [name, String(all[name])]));
    expect(raw.toString()).toBe(body);
    good.push({ secret: newest, raw, headers }, { secret: older, raw, headers });
    bad.push(
      { secret: stranger, raw, headers },
      { secret: newest, raw: Buffer.concat([raw, Buffer.from(' ')]), headers },
      { secret: newest, raw, headers: { ...headers, 'webhook-id': 'en_other' } },
      {
        secret: newest,
        raw,
        headers: { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 600) },
      },
    );
  }
  const all = [...good, ...bad];
  const expected = all.map((candidate) => good.includes(candidate));
  expect(all.map(verifiedInJavaScript)).toEqual(expected);
  expect(verifiedInPython(all)).toEqual(expected);
});
