import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { migratePostgres } from '../../../../pipelines/runtime/migrate.ts';
import { makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { limaDay } from '../../../../schemas/lima-time.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/engines/isolation.ts';
import { padronDocument, runPadron } from '../../../support/process/command.ts';

let database: FreshDatabase;
let pool: Pool;
// No stack runs from this folder: what the command knows comes from its environment.
const emptyFolder = mkdtempSync(path.join(tmpdir(), 'padron-cli-'));

beforeAll(async () => {
  database = await freshDatabase(inject('endpoints'));
  await migratePostgres(database.DATABASE_URL);
  pool = makePool(database.DATABASE_URL, 'test', 2);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
  rmSync(emptyFolder, { recursive: true });
});

const padron = (words: string[], environment: Record<string, string> = { DATABASE_URL: database.DATABASE_URL }) =>
  runPadron(words, { PADRON_LOCAL_DIR: emptyFolder, ...environment });

const document = <Answer>(words: string[]) =>
  padronDocument<Answer>(words, { PADRON_LOCAL_DIR: emptyFolder, DATABASE_URL: database.DATABASE_URL });

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
  const { rows } = await pool.query('SELECT t::text AS stored FROM token t');
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

test.each([
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
] as const)('%j fails in words, on standard error alone', async (words, said) => {
  const { code, stdout, stderr } = await padron([...words]);
  expect(code).not.toBe(0);
  expect(stdout).toBe('');
  expect(stderr).toMatch(said);
  expect(stderr).not.toMatch(/\n {4}at /);
});

test('a pasted token is not repeated in the error', async () => {
  const pasted = `pad_live_${'0'.repeat(16)}_${'1'.repeat(48)}`;
  const { stderr } = await padron(['tokens', 'revoke', pasted]);
  expect(stderr).toMatch(/no such token/);
  expect(stderr).not.toContain('1'.repeat(48));
});

test('without a stack and without addresses it says what to start or set', async () => {
  const { code, stderr } = await padron(['accounts', 'list'], {});
  expect(code).toBe(1);
  expect(stderr).toMatch(/DATABASE_URL: is not set[\s\S]*npm start/);
});

test("with a local stack it finds the addresses by itself, the demo's too; the environment wins over them", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'padron-cli-'));
  const file = path.join(folder, 'run', 'endpoints.json');
  const demo = path.join(folder, 'demo', 'run', 'endpoints.json');
  for (const one of [file, demo]) mkdirSync(path.dirname(one), { recursive: true });
  const running = JSON.stringify({ DATABASE_URL: database.DATABASE_URL, PADRON_API_URL: 'http://127.0.0.1:1' });
  writeFileSync(demo, running);
  expect((await padron(['tokens', 'list'], { PADRON_LOCAL_DIR: folder })).code).toBe(0);
  writeFileSync(demo, '{ half');
  writeFileSync(file, running);
  const found = await padron(['tokens', 'list', '--json'], { PADRON_LOCAL_DIR: folder });
  expect([found.code, JSON.parse(found.stdout)]).toEqual([0, expect.any(Array)]);
  const elsewhere = { PADRON_LOCAL_DIR: folder, DATABASE_URL: 'postgres://padron@127.0.0.1:1/padron' };
  expect((await padron(['tokens', 'list'], elsewhere)).code).toBe(1);
  writeFileSync(file, '{ half');
  const broken = await padron(['tokens', 'list'], { PADRON_LOCAL_DIR: folder });
  expect([broken.code, broken.stderr]).toEqual([1, expect.stringMatching(/not readable[\s\S]*npm start/)]);
  rmSync(folder, { recursive: true });
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

test.each([[[]], [['accounts']], [['accounts', 'create']], [['tokens', 'create']], [['tokens', 'revoke']]])(
  '%j --help shows what it takes',
  async (words) => {
    const { code, stdout } = await padron([...words, '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Usage: padron/);
    if (words.length !== 1) expect(stdout).toMatch(/Examples?:/);
  },
);
