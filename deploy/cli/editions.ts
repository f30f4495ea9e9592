import type { Command } from 'commander';
import { type Edition, listEditions } from '../../pipelines/editions/editions.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { wholeNumber } from './accounts.ts';
import type { CommandContext, OutputOptions } from './context.ts';
import { registerOf } from './publications.ts';

/** `padron editions list`. */
export function registerEditionsCommands(program: Command, context: CommandContext): void {
  const editions = program.command('editions').description('States that the registers have had, each with a number.');

  editions
    .command('list')
    .description('Editions, newest first.')
    .option('--register <register>', 'of this register only', registerOf)
    .option('--limit <count>', 'how many at most', wholeNumber, 20)
    .option('--json', 'one JSON document on standard output')
    .addHelpText(
      'after',
      '\nExamples:\n  $ npx padron editions list\n  $ npx padron editions list --register padron_reducido --json',
    )
    .action(async (options: OutputOptions & { register?: RegisterName; limit: number }) => {
      const rows = await listEditions(context.pool(), { register: options.register ?? null, maxRows: options.limit });
      context.show(options, rows, rows.length === 0 ? 'No editions yet.' : rows.map(lineOf));
    });
}

function lineOf(edition: Edition): string {
  const steps = [
    edition.publicada_at === null ? null : 'published',
    edition.materializada_at === null ? null : 'materialised',
    edition.avisada_at === null ? null : 'notified',
  ].filter((step) => step !== null);
  return [
    `${edition.register} ${edition.number}`,
    edition.fecha_dato,
    `${edition.changes.toLocaleString('en')} changes`,
    steps.at(-1) ?? 'frozen',
    `detected ${edition.detected_at.toISOString()}`,
  ].join('  ');
}
