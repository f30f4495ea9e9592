import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { limaDay } from '../../../../schemas/lima-time.ts';
import { freshDatabase } from '../../../support/engines/isolation.ts';
import { type CliStage, makeCliStage } from '../../../support/process/cli-stage.ts';
import { runCommand } from '../../../support/process/command.ts';

let stage: CliStage;
beforeAll(async () => {
  stage = await makeCliStage(inject('endpoints'));
});
afterAll(() => stage.close());

const padron = (words: readonly string[], environment = stage.environment) => runCommand(words, environment);
const document = <Answer>(words: string[]) => stage.document<Answer>(...words);

test('an account, its tokens, a revocation; secrets are shown once and only their hash is kept', async () => {
  const { id } = await document<{ id: number }>([
    ...['accounts', 'create', '--name', 'Banco Ñandú', '--plan', 'empresa', '--contract', 'CTD-7'],
    ...['--email', 'avisos@example.com'],
  ]);
  const accounts = await document<Record<string, unknown>[]>(['accounts', 'list']);
  expect(accounts).toEqual([
    expect.objectContaining({
      id,
      name: 'Banco Ñandú',
      plan: 'empresa',
      contract: { reference: 'CTD-7', from: limaDay(new Date()), until: null },
    }),
  ]);
  const { token } = await document<{ token: string }>(['tokens', 'create', '--account', String(id)]);
  expect(token).toMatch(/^pad_live_[0-9a-f]{16}_[0-9a-f]{48}$/);
  const [, , tokenId, secret] = token.split('_');
  const { rows } = await stage.pool.query('SELECT t::text AS stored FROM token t');
  expect(rows).toHaveLength(1);
  expect(rows[0].stored).not.toContain(secret);

  const tokens = await padron(['tokens', 'list', '--account', String(id)]);
  expect(tokens.stdout).toContain(`${tokenId}\taccount ${id}\tlive`);
  expect(tokens.stdout).not.toContain(secret);
  const first = await document<{ revoked_at: string }>(['tokens', 'revoke', tokenId!]);
  const again = await document<{ revoked_at: string }>(['tokens', 'revoke', tokenId!]);
  expect(again.revoked_at).toBe(first.revoked_at);
  expect((await padron(['tokens', 'list'])).stdout).toMatch(/revoked 2/);
});

test('a link into the console, with what it allows, for a limited time', async () => {
  const { id } = await document<{ id: number }>(['accounts', 'create', '--name', 'Con enlace', '--plan', 'free']);
  const made = await document<{ link: string; expires_at: string }>([
    ...['accounts', 'link', String(id), '--capabilities', 'reenviar,gestionar_webhooks', '--hours', '2'],
    ...['--name', 'Ana', '--base-url', 'https://padron.example.pe/'],
  ]);
  expect(made.link).toMatch(/^https:\/\/padron\.example\.pe\/consola\/enlace\?clave=[\w-]{43}$/);
  const { rows } = await stage.pool.query('SELECT l::text AS stored, capabilities, token_id, name FROM console_link l');
  expect(rows).toEqual([
    {
      stored: expect.not.stringContaining(made.link.split('=')[1]!),
      capabilities: ['ver', 'reenviar', 'gestionar_webhooks'],
      token_id: null,
      name: 'Ana',
    },
  ]);
});

test.each([
  [['accounts', 'link', '1', '--capabilities', 'todo'], /no capability "todo"[\s\S]*gestionar_webhooks/],
  [['accounts', 'link', '1', '--hours', '169'], /--hours is from 1 to 168/],
  [['accounts', 'link', '999'], /no account 999/],
  [['accounts', 'create', '--name', 'X', '--plan', 'oro'], /no plan "oro"[\s\S]*free, micro, crecimiento, empresa/],
  [['accounts', 'create', '--plan', 'free'], /--name/],
  [['accounts', 'create', '--name', 'X', '--plan', 'free', '--contract-until', '2030-01-01'], /without a contract/],
  [
    ['accounts', 'create', '--name', 'X', '--plan', 'free', '--contract', 'C', '--contract-from', '2030-02-30'],
    /not a day/,
  ],
  [['tokens', 'create', '--account', '999'], /no account 999[\s\S]*accounts list/],
  [['tokens', 'create', '--account', 'uno'], /not a whole number/],
  [['acounts', 'list'], /unknown command/],
] as const)('%j fails in words, on standard error alone', (words, message) => stage.expectRefused(words, message));

test('a pasted token is not repeated in the error', async () => {
  const pasted = `pad_live_${'0'.repeat(16)}_${'1'.repeat(48)}`;
  const { stderr } = await padron(['tokens', 'revoke', pasted]);
  expect(stderr).toMatch(/no such token/);
  expect(stderr).not.toContain('1'.repeat(48));
});

test('without a stack and without addresses it says what to start or set', async () => {
  const { code, stderr } = await padron(['accounts', 'list'], { PADRON_LOCAL_DIR: stage.folder });
  expect(code).toBe(1);
  expect(stderr).toMatch(/DATABASE_URL: is not set[\s\S]*npm start/);
});

test('a database that does not answer, or has no tables, is said so', async () => {
  const silent = await padron(['accounts', 'list'], { DATABASE_URL: 'postgres://padron@127.0.0.1:1/padron' });
  expect([silent.code, silent.stderr]).toEqual([
    1,
    expect.stringMatching(/Nothing answers at 127.0.0.1:1 .*[\s\S]*npm start/),
  ]);
  const empty = await freshDatabase(inject('endpoints'));
  const bare = await padron(['accounts', 'list'], { DATABASE_URL: empty.DATABASE_URL });
  await empty.drop();
  expect([bare.code, bare.stderr]).toEqual([1, expect.stringMatching(/padron migrate/)]);
});
