import type { Command } from 'commander';
import { createAccount, listAccounts, planNames } from '../../api/accounts/accounts.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { dayOf, wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';

interface CreateOptions extends OutputOptions {
  name: string;
  plan: string;
  email?: string;
  contract?: string;
  contractFrom?: string;
  contractUntil?: string;
}

export function registerAccountsCommands(program: Command, context: CommandContext): void {
  const accounts = program.command('accounts').description('Customers: their plan and their data-processing contract.');

  accounts
    .command('create')
    .description('Makes an account. Its tokens are made with `padron tokens create`.')
    .requiredOption('--name <name>', 'name of the customer')
    .requiredOption('--plan <plan>', 'free, micro, crecimiento or empresa')
    .option('--email <address>', 'where operational notices go')
    .option('--contract <reference>', "data-processing contract; opens natural persons' records")
    .option('--contract-from <day>', 'first day of the contract, YYYY-MM-DD (default: today in Lima)')
    .option('--contract-until <day>', 'last day of the contract, YYYY-MM-DD (default: open)')
    .option('--json', 'one JSON document on standard output')
    .addHelpText(
      'after',
      `
Examples:
  $ npx padron accounts create --name "Estudio Uno" --plan crecimiento
  $ npx padron accounts create --name "Banco Dos" --plan empresa --contract CTD-2026-014 --json`,
    )
    .action(async (options: CreateOptions) => {
      await checkPlan(context, options.plan);
      const id = await createAccount(context.pool(), {
        name: filled(options.name, '--name'),
        plan: options.plan,
        email: options.email ?? null,
        contract: contractOf(options),
      });
      const { bold } = context.colours;
      context.show(options, { id }, [
        `Account ${bold(String(id))} is made.`,
        `Next: npx padron tokens create --account ${id}`,
      ]);
    });

  accounts
    .command('list')
    .description('Accounts, oldest first.')
    .option('--limit <count>', 'how many at most', wholeNumber, 1_000)
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron accounts list')
    .action(async (options: OutputOptions & { limit: number }) => {
      const rows = await listAccounts(context.pool(), options.limit);
      context.show(
        options,
        rows,
        rows.length === 0
          ? 'No accounts yet. Make one with: npx padron accounts create'
          : rows.map((row) =>
              [row.id, row.plan, row.name, row.contract ? `contract ${row.contract.reference}` : '']
                .join('\t')
                .trimEnd(),
            ),
      );
    });
}

async function checkPlan(context: CommandContext, plan: string): Promise<void> {
  const plans = await planNames(context.pool());
  if (!plans.includes(plan)) throw new CommandError(`There is no plan "${plan}".`, `Plans: ${plans.join(', ')}.`);
}

function contractOf(options: CreateOptions) {
  const { contract, contractFrom, contractUntil } = options;
  if (contract === undefined) {
    if (contractFrom !== undefined || contractUntil !== undefined)
      throw new CommandError('Days of a contract without a contract.', 'Give its reference with --contract.');
    return null;
  }
  return {
    reference: filled(contract, '--contract'),
    from: contractFrom === undefined ? limaDay(new Date()) : dayOf(contractFrom),
    until: contractUntil === undefined ? null : dayOf(contractUntil),
  };
}

function filled(text: string, option: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw new CommandError(`${option} is empty.`, `Give a text after ${option}.`);
  return trimmed;
}
