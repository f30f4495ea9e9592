import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { limaDay } from '../../../../schemas/lima-time.ts';
import { type CliStage, makeCliStage } from '../../../support/process/cli-stage.ts';

let stage: CliStage;
let id: string;

beforeAll(async () => {
  stage = await makeCliStage(inject('endpoints'));
  id = String((await document<{ id: number }>('accounts', 'create', '--name', 'Estudio Uno', '--plan', 'free')).id);
});
afterAll(() => stage.close());

const document = <Answer>(...words: string[]) => stage.document<Answer>(...words);
const padron = (...words: string[]) => stage.padron(...words);

interface Shown {
  plan: string;
  contract: { reference: string } | null;
  contracts: { id: number; reference: string; ended_at: string | null }[];
  use: { limit: number; used: number; prepaid: number };
}
const shown = () => document<Shown>('accounts', 'show', id);

test('a plan is changed; prepaid look-ups of one invoice count once', async () => {
  await document('accounts', 'plan', id, 'micro');
  const credit = (units: string, reference: string) => ['accounts', 'credit', id, units, '--reference', reference];
  expect(await document(...credit('5000', 'F001-1'))).toMatchObject({ outcome: 'credited' });
  expect(await document(...credit('5000', 'F001-1'))).toMatchObject({ outcome: 'already_credited' });
  expect(await shown()).toMatchObject({ plan: 'micro', use: { limit: 10_000, used: 0, prepaid: 5_000 } });
  expect((await padron(...credit('70', 'F001-1'))).stderr).toMatch(/another number of look-ups/);
  expect((await padron('accounts', 'show', id)).stdout).toMatch(/used 0 of 10000 .*prepaid balance 5000/);
});

test('notices go to the address that was given last; what is no address is refused', async () => {
  expect(await document('accounts', 'email', id, 'avisos@example.pe')).toEqual({
    id: Number(id),
    email: 'avisos@example.pe',
  });
  expect(await shown()).toMatchObject({ email: 'avisos@example.pe' });
  expect((await padron('accounts', 'email', id, 'avisos')).stderr).toMatch(/"avisos" is no mail address/);
  expect((await padron('accounts', 'email', '999', 'a@example.pe')).stderr).toMatch(/no account 999/);
  await document('accounts', 'email', id, 'none');
  expect(await shown()).toMatchObject({ email: null });
  const create = ['accounts', 'create', '--name', 'X', '--plan', 'free', '--email', 'nadie'];
  expect((await padron(...create)).stderr).toMatch(/"nadie" is no mail address/);
});

test('contracts: the newest in force counts, an ended one stays in the list', async () => {
  const add = (...words: string[]) => document<{ id: number }>('contracts', 'add', '--account', id, ...words);
  const first = await add('--reference', 'CTD-1', '--from', '2020-01-01');
  const second = await add('--reference', 'CTD-2');
  await add('--reference', 'CTD-3', '--from', '2099-01-01');
  expect((await shown()).contract?.reference).toBe('CTD-2');
  await document('contracts', 'end', String(second.id));
  expect((await shown()).contract?.reference).toBe('CTD-1');
  await document('contracts', 'end', String(first.id), '--on', '2020-12-31');
  const after = await shown();
  expect(after.contract).toBeNull();
  expect(after.contracts.map(({ reference, ended_at }) => [reference, ended_at !== null])).toEqual([
    ['CTD-3', false],
    ['CTD-2', true],
    ['CTD-1', false],
  ]);
  const { stdout } = await padron('contracts', 'list', '--account', id);
  expect(stdout).toContain(`CTD-1\t2020-01-01 to 2020-12-31`);
  expect(stdout).toMatch(new RegExp(`CTD-2\t${limaDay(new Date())} to open\tended 2`));
});

test.each([
  [['accounts', 'show', '999'], /no account 999[\s\S]*accounts list/],
  [['accounts', 'plan', '999', 'micro'], /no account 999/],
  [['accounts', 'plan', '1', 'oro'], /no plan "oro"/],
  [['accounts', 'credit', '999', '5', '--reference', 'F'], /no account 999/],
  [['accounts', 'credit', '1', '0', '--reference', 'F'], /not a whole number/],
  [['contracts', 'add', '--account', '999', '--reference', 'C'], /no account 999/],
  [['contracts', 'add', '--account', '1', '--reference', 'C', '--until', '2001-01-01'], /before the first/],
  [['contracts', 'end', '999'], /no contract 999[\s\S]*contracts list/],
  [['contracts', 'end', '3', '--on', '2020-01-01'], /begins after/],
] as const)('%j fails in words', (words, message) => stage.expectRefused(words, message));

test('lists and remarks for a person: an account, its contract, and what is repeated', async () => {
  const name = 'Banco Ñandú';
  const created = await padron('accounts', 'create', '--name', ` ${name} `, '--plan', 'empresa', '--contract', 'CTD-9');
  const [, made] = /^Account (\d+) is made\.\nNext: npx padron tokens create --account \1\n$/.exec(created.stdout)!;
  expect((await padron('accounts', 'list')).stdout).toContain(`${made}\tempresa\t${name}\tcontract CTD-9\n`);
  expect((await padron('accounts', 'list', '--limit', '1')).stdout.split('\n')).toHaveLength(2);
  const credit = ['accounts', 'credit', made!, '5', '--reference', 'F002-1'];
  expect((await padron(...credit)).stdout).toBe(`Account ${made} has 5 look-ups more.\n`);
  expect((await padron(...credit)).stdout).toBe(`Account ${made} had these 5 look-ups already: nothing is added.\n`);
  expect((await padron('accounts', 'plan', made!, 'micro')).stdout).toBe(`Account ${made} has the plan micro.\n`);
  expect((await padron('accounts', 'email', made!, 'none')).stdout).toBe(
    `Notices of account ${made} go to no mail address.\n`,
  );
  expect((await padron('tokens', 'list', '--account', made!)).stdout).toBe('No tokens.\n');
  const contract = await padron(
    'contracts',
    'add',
    '--account',
    made!,
    '--reference',
    'CTD-10',
    '--from',
    '2026-01-01',
  );
  expect(contract.stdout).toMatch(/^Contract \d+ is added: CTD-10, from 2026-01-01\.\n$/);
  expect((await padron('contracts', 'list', '--limit', '1')).stdout).toMatch(
    /\taccount \d+\tCTD-10\t2026-01-01 to open\n$/,
  );
});
