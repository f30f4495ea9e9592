import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { planRanks } from '../../../../api/accounts/callers.ts';
import { makeDocument } from '../../../../api/openapi/document.ts';
import { pythonCheck } from '../../../../api/openapi/texts.ts';
import { repositoryRoot } from '../../../../deploy/local/config.ts';
import { sign } from '../../../../workflows/delivery/signature.ts';

const introduction = makeDocument('', {}).info.description ?? '';

test('the plans are shown with the initial limits of the database', () => {
  const sql = readFileSync(path.join(repositoryRoot, 'schemas/postgres/0002_accounts.sql'), 'utf8');
  const plans = [...sql.matchAll(/\('(\w+)', \d, (\d+), (\d+)\)/g)].map(([, ...cells]) => cells);
  expect(plans.map(([name]) => name)).toEqual(Object.keys(planRanks));
  for (const [name, month, minute] of plans)
    expect(introduction).toContain(
      `| \`${name}\` | ${Number(month).toLocaleString('en')} | ${Number(minute).toLocaleString('en')} |`,
    );
});

const judge = `
import json, sys
for body, headers, secret in json.load(sys.stdin):
    try:
        verify_notice(body.encode(), headers, secret)
        print("good")
    except ValueError as error:
        print(error)`;

function headersOf(body: string, secrets: readonly string[], seconds: number): Record<string, string> {
  const delivery = 'en_AAECAwQFBgcICQoLDA0ODw';
  return {
    'X-Service-Delivery': delivery,
    'X-Service-Timestamp': String(seconds),
    'X-Service-Signature': sign(secrets, delivery, seconds, body),
  };
}

test('the check in Python accepts what the service signs and nothing else', async () => {
  const [secret, other] = [32, 32].map((bytes) => `whsec_${randomBytes(bytes).toString('base64')}`) as [string, string];
  const body = '{"evento": "ruc.estado_cambiado", "razón": "Ñ"}';
  const now = Math.floor(Date.now() / 1_000);
  const good = headersOf(body, [secret], now);
  const cases = [
    [body, good, secret],
    [body, headersOf(body, [other, secret], now), secret],
    [`${body} `, good, secret],
    [body, good, other],
    [body, headersOf(body, [secret], now - 3_600), secret],
  ];
  const running = promisify(execFile)('python3', ['-c', `${pythonCheck}\n${judge}`]);
  running.child.stdin?.end(JSON.stringify(cases));
  const { stdout } = await running;
  expect(stdout.trimEnd().split('\n')).toEqual([
    'good',
    'good',
    'the notice is not signed with this secret',
    'the notice is not signed with this secret',
    'the notice is older than five minutes',
  ]);
});

test('the documentation and the README show the same check', () => {
  expect(introduction).toContain(pythonCheck);
  expect(readFileSync(path.join(repositoryRoot, 'README.md'), 'utf8')).toContain(
    `\`\`\`python\n${pythonCheck}\n\`\`\``,
  );
});
