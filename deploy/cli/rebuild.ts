import type { Command } from 'commander';
import { rebuild } from '../../pipelines/replay/rebuild.ts';
import { makeClickhouse } from '../../pipelines/runtime/clickhouse.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import { registerOf } from './arguments.ts';
import type { CommandContext, OutputOptions } from './context.ts';
import { openConfiguredArchive } from './listed-lines.ts';
import { ProgressLine } from './progress-line.ts';
import { verifySettings } from './verify.ts';

/** Copying a large register is one statement of about a minute. */
const requestTimeoutMs = 3_600_000;

/** `padron rebuild`: state, history and names in ClickHouse made anew from the archive, beside those that serve. */
export function registerRebuildCommand(program: Command, context: CommandContext): void {
  program
    .command('rebuild')
    .description(
      'Makes state and history anew from the change files, proves them, and exchanges them for the serving ones.',
    )
    .option('--register <register>', 'this register only; the others are copied as they are', registerOf)
    .option('--json', 'one JSON document on standard output')
    .addHelpText(
      'after',
      `
Look-ups go on during all of it. It needs room for a second copy of the tables. Refused while an edition is being published.
When it is ended half way, what serves is whole; run it again.

Examples:
  $ npx padron rebuild
  $ npx padron rebuild --register agentes_retencion --json`,
    )
    .action(async (options: OutputOptions & { register?: RegisterName }) => {
      const { CLICKHOUSE_URL, WORK_DIR } = context.configuration(verifySettings);
      const clickhouse = makeClickhouse(CLICKHOUSE_URL, 'padron-rebuild', { requestTimeoutMs, connections: 2 });
      context.onEnd(() => clickhouse.close());
      const parts = {
        pool: context.pool(),
        clickhouse,
        archive: await openConfiguredArchive(context),
        clickhouseUrl: CLICKHOUSE_URL,
        workDir: WORK_DIR,
      };
      const progress = new ProgressLine((text) => context.note(text));
      const rebuilt = await rebuild(
        parts,
        options.register === undefined ? registerNames : [options.register],
        ({ phase, register, edition, rows, totalRows }) =>
          progress.tell([phase, register, edition].filter((part) => part !== null).join(' '), rows, totalRows),
        new AbortController().signal,
      );
      const lines = rebuilt.map(
        ({ register, edition, rows }) => `${register} ${edition}: rebuilt, ${rows.toLocaleString('en')} rows`,
      );
      context.show(options, rebuilt, lines.length === 0 ? 'No register has an edition yet.' : lines);
    });
}
