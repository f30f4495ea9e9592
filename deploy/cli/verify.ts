import type { Command } from 'commander';
import { rebuild } from '../../pipelines/replay/rebuild.ts';
import type { ListedDifference, PartReport, VerifyReport } from '../../pipelines/replay/types.ts';
import { type VerifyOutcome, verifyRegister } from '../../pipelines/replay/verify.ts';
import { makeClickhouse } from '../../pipelines/runtime/clickhouse.ts';
import { archiveBlock, clickhouseBlock, databaseBlock } from '../../pipelines/runtime/config.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import { registerOf } from './arguments.ts';
import type { CommandContext, OutputOptions } from './context.ts';
import { openConfiguredArchive, ProgressLine } from './output.ts';

/** Read at once, so that all that is missing is said at once. */
export const verifySettings = databaseBlock.extend(clickhouseBlock.shape).extend(archiveBlock.shape);

const exitDiffers = 1;
const exitOnItsWay = 3;

type Verified = { register: RegisterName } & VerifyOutcome;

/** `padron verify`: whether ClickHouse holds what the archive says. Reads only. */
export function registerVerifyCommand(program: Command, context: CommandContext): void {
  program
    .command('verify')
    .description(
      'Proves that state, names and history are what the change files say, and the state what was published.',
    )
    .option('--register <register>', 'this register only', registerOf)
    .option('--json', 'one JSON document on standard output')
    .addHelpText(
      'after',
      `
The exit code is 0 when all is equal, ${exitDiffers} when something differs, and ${exitOnItsWay} when an edition is on its way: try again then.

Examples:
  $ npx padron verify
  $ npx padron verify --register padron_reducido --json`,
    )
    .action(async (options: OutputOptions & { register?: RegisterName }) => {
      const { CLICKHOUSE_URL: clickhouseUrl, WORK_DIR: workDir } = context.configuration(verifySettings);
      const parts = { pool: context.pool(), archive: await openConfiguredArchive(context), clickhouseUrl, workDir };
      const progress = new ProgressLine((text) => context.note(text));
      const found: Verified[] = [];
      for (const register of options.register === undefined ? registerNames : [options.register]) {
        const outcome = await verifyRegister(
          parts,
          register,
          ({ phase, rows, totalRows }) => progress.tell(`${register} ${phase}`, rows, totalRows),
          new AbortController().signal,
        );
        found.push({ register, ...outcome });
      }
      context.show(options, found.map(documentOf), found.flatMap(linesOf));
      process.exitCode = exitCodeOf(found);
    });
}

function exitCodeOf(found: readonly Verified[]): number {
  if (found.some((one) => one.kind === 'verified' && !one.report.equal)) return exitDiffers;
  return found.some(({ kind }) => kind === 'on_its_way') ? exitOnItsWay : 0;
}

function documentOf(found: Verified): unknown {
  if (found.kind === 'verified') return found.report;
  return found.kind === 'no_edition'
    ? { register: found.register, edition: null }
    : { register: found.register, edition: found.edition, onItsWay: true };
}

function linesOf(found: Verified): string[] {
  if (found.kind === 'no_edition') return [`${found.register}: no edition yet`];
  if (found.kind === 'on_its_way') {
    return [`${found.register}: edition ${found.edition} is on its way, try again`];
  }
  const { report } = found;
  const verdict = report.equal ? 'equal' : `${report.differences.toLocaleString('en')} differences`;
  return [
    `${report.register} ${report.edition}: ${verdict}, ${report.rows.toLocaleString('en')} rows`,
    ...(report.equal ? [] : partsOf(report)),
    ...(report.publicationNote === null ? [] : [`  publication not compared: ${report.publicationNote}`]),
    ...report.listed.map(differenceLine),
  ];
}

function partsOf({ state, names, history, publication }: VerifyReport): string[] {
  const line = (name: string, { missing, extra, differs }: PartReport) =>
    `  ${name}: ${missing} missing, ${extra} that should not be there, ${differs} with another row`;
  return [
    line('state', state),
    ...(names === null ? [] : [line('names', names)]),
    line('history', history),
    ...(publication === null ? [] : [line('publication', publication)]),
  ];
}

function differenceLine({ where, kind, id, edition }: ListedDifference): string {
  return `    ${where} ${kind} ${id}${edition === null ? '' : ` in edition ${edition}`}`;
}

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
