import type { Command } from 'commander';
import { createToken, listTokens, revokeToken } from '../../api/accounts/tokens.ts';
import { noAccount, wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';

export function registerTokensCommands(program: Command, context: CommandContext): void {
  const tokens = program
    .command('tokens')
    .description("Accounts' tokens: the text after `Authorization: Bearer`.")
    .addHelpText('after', '\nExample:\n  $ npx padron tokens create --account 1');

  tokens
    .command('create')
    .description('Makes a token. Its text is shown this once: only a hash of it is kept.')
    .requiredOption('--account <id>', 'the account that the token belongs to', wholeNumber)
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron tokens create --account 1 --json')
    .action(async (options: OutputOptions & { account: number }) => {
      const made = await createToken(context.pool(), options.account);
      if (made === null) throw noAccount(options.account);
      context.show(options, { token: made.token }, [made.token, 'Keep it: it is not shown again.']);
    });

  tokens
    .command('list')
    .description('Tokens, newest first, without their secrets.')
    .option('--account <id>', 'of this account only', wholeNumber)
    .option('--limit <count>', 'how many at most', wholeNumber, 1_000)
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron tokens list --account 1')
    .action(async (options: OutputOptions & { account?: number; limit: number }) => {
      const rows = await listTokens(context.pool(), options.account ?? null, options.limit);
      context.show(
        options,
        rows,
        rows.length === 0
          ? 'No tokens.'
          : rows.map(
              (row) =>
                `${row.id}\taccount ${row.account}\t${row.revoked_at ? `revoked ${row.revoked_at.toISOString()}` : 'live'}`,
            ),
      );
    });

  tokens
    .command('revoke')
    .description('Revokes a token; every API process refuses it within 5 seconds.')
    .argument('<token>', 'the id of the token: the part after pad_live_ in its text, as `padron tokens list` shows it')
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron tokens revoke 0123456789abcdef')
    .action(async (id: string, options: OutputOptions) => {
      const at = await revokeToken(context.pool(), id);
      // The argument is not repeated: it may be a whole token, pasted.
      if (at === null) throw new CommandError('There is no such token.', 'See the ids with: npx padron tokens list');
      context.show(options, { id, revoked_at: at }, `Token ${id} is revoked.`);
    });
}
