import { z } from 'zod';
import { createAccount, listAccounts, planNames, readAccount } from '../../api/accounts/accounts.ts';
import { listContracts } from '../../api/accounts/contracts.ts';
import { listTokens } from '../../api/accounts/tokens.ts';
import { readUse } from '../../api/metering/ledger.ts';
import { monthOf } from '../../api/metering/minute-limits.ts';
import { credit, issueToken, revokeTokenBy, setEmail, setPlan } from '../../api/operators/customers.ts';
import { createLink } from '../../api/pages/sessions/links.ts';
import { type Capability, capabilities, linkHours } from '../../schemas/http/account.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { checkDays, dayOf, emailOf, filled, noAccount, type PadronCommand, wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';

interface CreateOptions extends OutputOptions {
  name: string;
  plan: string;
  email?: string;
  contract?: string;
  contractFrom?: string;
  contractUntil?: string;
}

const plans = 'free, micro, crecimiento or empresa';
/** Largest number of contracts or tokens that `accounts show` reads, and of rows in a list without --limit. */
const maxRows = 1_000;

export function addAccountsCommands(program: PadronCommand, context: CommandContext): void {
  const accounts = program
    .command('accounts')
    .description('Customers: their plan and their data-processing contract.')
    .examples('accounts show 1');

  accounts
    .command('create')
    .description('Makes an account. Its tokens are made with `padron tokens create`.')
    .requiredOption('--name <name>', 'name of the customer')
    .requiredOption('--plan <plan>', plans)
    .option('--email <address>', 'where operational notices go', emailOf)
    .option('--contract <reference>', "data-processing contract; opens natural persons' records")
    .option('--contract-from <day>', 'first day of the contract, YYYY-MM-DD (default: today in Lima)', dayOf)
    .option('--contract-until <day>', 'last day of the contract, YYYY-MM-DD (default: open)', dayOf)
    .examples(
      'accounts create --name "Estudio Uno" --plan crecimiento',
      'accounts create --name "Banco Dos" --plan empresa --contract CTD-2026-014 --json',
    )
    .action(async (options: CreateOptions) => {
      await checkPlan(context, options.plan);
      const id = await createAccount(context.pool(), {
        name: filled(options.name, '--name'),
        plan: options.plan,
        email: options.email ?? null,
        contract: contractOf(options),
      });
      context.show(options, { id }, [
        `Account ${context.colours.bold(String(id))} is made.`,
        `Next: npx padron tokens create --account ${id}`,
      ]);
    });

  accounts
    .command('list')
    .description('Accounts, oldest first.')
    .limitOption(maxRows)
    .examples('accounts list')
    .action(async (options: OutputOptions & { limit: number }) => {
      const rows = await listAccounts(context.pool(), options.limit);
      const none = 'No accounts yet. Make one with: npx padron accounts create';
      const line = ({ id, plan, name, contract }: (typeof rows)[number]) =>
        [id, plan, name, contract ? `contract ${contract.reference}` : ''].join('\t').trimEnd();
      context.showRows(options, rows, line, none);
    });

  accounts
    .command('show')
    .description("An account's plan, its use of this month, its contracts and tokens.")
    .argument('<id>', 'the account', wholeNumber)
    .examples('accounts show 1')
    .action((id: number, options: OutputOptions) => showAccount(context, id, options));

  addLinkCommand(accounts, context);
  addChangeCommands(accounts, context);
}

function addLinkCommand(accounts: PadronCommand, context: CommandContext): void {
  accounts
    .command('link')
    .description('Makes a link that opens the customer console once, without a token.')
    .argument('<id>', 'the account', wholeNumber)
    .option('--capabilities <list>', `what it allows beside ver, separated by commas: ${others}`, capabilitiesOf, [])
    .option('--name <name>', 'for whom it is')
    .option('--hours <hours>', `how long it may be used, at most ${linkHours.most}`, wholeNumber, linkHours.preset)
    .option('--base-url <url>', "the API's public address (default: PUBLIC_BASE_URL)")
    .examples('accounts link 1', 'accounts link 1 --capabilities gestionar_webhooks,reenviar --name "Ana" --hours 2')
    .action(async (id: number, options: LinkOptions) => {
      if (options.hours < linkHours.least || options.hours > linkHours.most)
        throw new CommandError(`--hours is from ${linkHours.least} to ${linkHours.most}.`, 'Give another number.');
      const made = await createLink(context.pool(), {
        accountId: id,
        tokenId: null,
        capabilities: options.capabilities,
        name: options.name === undefined ? null : filled(options.name, '--name'),
        hours: options.hours,
      });
      if (made === null) throw noAccount(id);
      const base = options.baseUrl ?? context.configuration(publicAddress).PUBLIC_BASE_URL ?? '';
      const link = `${base.replace(/\/$/, '')}${made.path}`;
      context.show(options, { id: made.id, link, expires_at: made.expiresAt }, [
        link,
        `It works once, until ${made.expiresAt.toISOString()}. It is not shown again.`,
      ]);
    });
}

interface LinkOptions extends OutputOptions {
  capabilities: Capability[];
  name?: string;
  hours: number;
  baseUrl?: string;
}

const publicAddress = z.object({ PUBLIC_BASE_URL: z.string().optional() });
const others = capabilities.filter((each) => each !== 'ver').join(', ');

function capabilitiesOf(text: string): Capability[] {
  return text.split(',').map((part) => {
    const found = capabilities.find((each) => each === part.trim());
    if (found === undefined)
      throw new CommandError(`There is no capability "${part.trim()}".`, `Capabilities: ${others}.`);
    return found;
  });
}

function addChangeCommands(accounts: PadronCommand, context: CommandContext): void {
  accounts
    .command('plan')
    .description('Changes the plan; every API process knows within 5 seconds. What was used this month stays used.')
    .argument('<id>', 'the account', wholeNumber)
    .argument('<plan>', plans)
    .examples('accounts plan 1 empresa')
    .action(async (id: number, plan: string, options: OutputOptions) => {
      await checkPlan(context, plan);
      if (!(await setPlan(context.pool(), context.actor(), id, plan, null))) throw noAccount(id);
      context.show(options, { id, plan }, `Account ${id} has the plan ${plan}.`);
    });

  accounts
    .command('email')
    .description('Changes where operational notices go: a webhook that fails, one that was paused.')
    .argument('<id>', 'the account', wholeNumber)
    .argument('<address>', 'the mail address, or "none"', (text: string) => (text === 'none' ? null : emailOf(text)))
    .examples('accounts email 1 avisos@example.pe')
    .action(async (id: number, email: string | null, options: OutputOptions) => {
      if (!(await setEmail(context.pool(), context.actor(), id, email, null))) throw noAccount(id);
      context.show(options, { id, email }, `Notices of account ${id} go to ${email ?? 'no mail address'}.`);
    });

  accounts
    .command('credit')
    .description("Adds prepaid look-ups, drawn when a month's quota is used up. Repeating it adds nothing.")
    .argument('<id>', 'the account', wholeNumber)
    .argument('<units>', 'how many look-ups', wholeNumber)
    .requiredOption('--reference <text>', 'of the purchase, for example the invoice; one reference counts once')
    .examples('accounts credit 1 5000 --reference F001-123')
    .action(async (id: number, units: number, options: OutputOptions & { reference: string }) => {
      const reference = filled(options.reference, '--reference');
      const outcome = await credit(context.pool(), context.actor(), id, { units, reference });
      if (outcome === 'no_account') throw noAccount(id);
      if (outcome === 'other_units')
        throw new CommandError(`${reference} was credited with another number of look-ups.`, 'Give another reference.');
      const line =
        outcome === 'already_credited'
          ? `Account ${id} had these ${units} look-ups already: nothing is added.`
          : `Account ${id} has ${units} look-ups more.`;
      context.show(options, { id, units, reference, outcome }, line);
    });
}

async function showAccount(context: CommandContext, id: number, options: OutputOptions): Promise<void> {
  const pool = context.pool();
  const month = monthOf(Date.now()).firstDay;
  const [account, use] = [await readAccount(pool, id), await readUse(pool, id, month)];
  if (account === null || use === null) throw noAccount(id);
  const contracts = await listContracts(pool, id, maxRows);
  const tokens = await listTokens(pool, id, maxRows);
  const live = tokens.filter((token) => token.revoked_at === null).length;
  context.show(options, { ...account, month, use, contracts, tokens }, [
    `${context.colours.bold(account.name)}\tplan ${account.plan}`,
    `used ${use.used} of ${use.limit} in the month of ${month}, prepaid balance ${use.prepaid}`,
    `contract ${account.contract?.reference ?? 'none in force'}, ${contracts.length} in all`,
    `tokens ${live} live, ${tokens.length - live} revoked`,
  ]);
}

async function checkPlan(context: CommandContext, plan: string): Promise<void> {
  const known = await planNames(context.pool());
  if (!known.includes(plan)) throw new CommandError(`There is no plan "${plan}".`, `Plans: ${known.join(', ')}.`);
}

function contractOf({ contract, contractFrom, contractUntil }: CreateOptions) {
  if (contract === undefined) {
    if (contractFrom !== undefined || contractUntil !== undefined)
      throw new CommandError('Days of a contract without a contract.', 'Give its reference with --contract.');
    return null;
  }
  const from = contractFrom ?? limaDay(new Date());
  const until = contractUntil ?? null;
  checkDays(from, until);
  return { reference: filled(contract, '--contract'), from, until };
}

export function addTokensCommands(program: PadronCommand, context: CommandContext): void {
  const tokens = program
    .command('tokens')
    .description("Accounts' tokens: the text after `Authorization: Bearer`.")
    .examples('tokens create --account 1');

  tokens
    .command('create')
    .description('Makes a token. Its text is shown this once: only a hash of it is kept.')
    .requiredOption('--account <id>', 'the account that the token belongs to', wholeNumber)
    .option('--name <name>', 'how people recognise it in lists')
    .examples('tokens create --account 1 --json')
    .action(async (options: OutputOptions & { account: number; name?: string }) => {
      const name = options.name === undefined ? null : filled(options.name, '--name');
      const made = await issueToken(context.pool(), context.actor(), options.account, null, name);
      if (made === null) throw noAccount(options.account);
      context.show(options, { token: made.token }, [made.token, 'Keep it: it is not shown again.']);
    });

  tokens
    .command('list')
    .description('Tokens, newest first, without their secrets.')
    .accountOption()
    .limitOption(maxRows)
    .examples('tokens list --account 1')
    .action(async (options: OutputOptions & { account?: number; limit: number }) => {
      const rows = await listTokens(context.pool(), options.account ?? null, options.limit);
      const line = ({ id, account, name, revoked_at }: (typeof rows)[number]) =>
        [id, `account ${account}`, revoked_at ? `revoked ${revoked_at.toISOString()}` : 'live', name ?? '']
          .join('\t')
          .trimEnd();
      context.showRows(options, rows, line, 'No tokens.');
    });

  tokens
    .command('revoke')
    .description('Revokes a token; every API process refuses it within 5 seconds.')
    .argument('<token>', 'the id of the token: the part after pad_live_ in its text, as `padron tokens list` shows it')
    .examples('tokens revoke 0123456789abcdef')
    .action(async (id: string, options: OutputOptions) => {
      const at = await revokeTokenBy(context.pool(), context.actor(), id, null);
      // The error does not repeat the argument, because it may be a whole token with its secret.
      if (at === null) throw new CommandError('There is no such token.', 'See the ids with: npx padron tokens list');
      context.show(options, { id, revoked_at: at }, `Token ${id} is revoked.`);
    });
}
