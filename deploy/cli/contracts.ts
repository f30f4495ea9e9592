import { type Contract, listContracts } from '../../api/accounts/contracts.ts';
import { finishContract, isBeforeFirstDay, openContract } from '../../api/operators/customers.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { checkDays, dayOf, filled, noAccount, type PadronCommand, wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';

export function addContractsCommands(program: PadronCommand, context: CommandContext): void {
  const contracts = program
    .command('contracts')
    .description("Data-processing contracts: they open natural persons' records to an account.")
    .examples('contracts list --account 1');

  contracts
    .command('add')
    .description('Adds a contract. Earlier ones stay as they are; of several in force the newest counts.')
    .requiredOption('--account <id>', 'the account', wholeNumber)
    .requiredOption('--reference <text>', "the contract's reference, kept with every answer that it opened")
    .option('--from <day>', 'first day in force, YYYY-MM-DD (default: today in Lima)', dayOf)
    .option('--until <day>', 'last day in force (default: open)', dayOf)
    .examples('contracts add --account 1 --reference CTD-2026-014 --until 2027-12-31')
    .action(async (options: OutputOptions & { account: number; reference: string; from?: string; until?: string }) => {
      const { from = limaDay(new Date()), until = null } = options;
      checkDays(from, until);
      const reference = filled(options.reference, '--reference');
      const id = await openContract(context.pool(), context.actor(), options.account, { reference, from, until });
      if (id === null) throw noAccount(options.account);
      const days = `from ${from}${until ? ` to ${until}` : ''}`;
      context.show(options, { id }, `Contract ${id} is added: ${reference}, ${days}.`);
    });

  contracts
    .command('list')
    .description('Contracts, newest first, past ones too.')
    .accountOption()
    .limitOption(1_000)
    .examples('contracts list --account 1')
    .action(async (options: OutputOptions & { account?: number; limit: number }) => {
      const rows = await listContracts(context.pool(), options.account ?? null, options.limit);
      context.showRows(options, rows, contractLine, 'No contracts.');
    });

  contracts
    .command('end')
    .description('Ends a contract at once, or after a last day. The contract stays in the list.')
    .argument('<id>', 'the number of the contract, as `padron contracts list` shows it', wholeNumber)
    .option('--on <day>', 'last day in force (default: ends at once)', dayOf)
    .remarks('Every API process knows within 5 seconds.')
    .examples('contracts end 3', 'contracts end 3 --on 2026-12-31')
    .action(async (id: number, options: OutputOptions & { on?: string }) => {
      const ended = await finishContract(context.pool(), context.actor(), id, options.on ?? null, null).catch(
        (error: unknown) => {
          if (!isBeforeFirstDay(error)) throw error;
          throw new CommandError(`Contract ${id} begins after ${options.on}.`, 'End it at once: leave --on out.');
        },
      );
      if (ended === null)
        throw new CommandError(`There is no contract ${id}.`, 'See them with: npx padron contracts list');
      context.show(options, ended, contractLine(ended));
    });
}

function contractLine({ id, account, reference, from, until, ended_at }: Contract): string {
  const days = `${from} to ${until ?? 'open'}`;
  return [id, `account ${account}`, reference, days, ended_at === null ? '' : `ended ${ended_at.toISOString()}`]
    .join('\t')
    .trimEnd();
}
