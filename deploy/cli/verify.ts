import { rebuild } from '../../pipelines/replay/rebuild.ts';
import type { CheckReport, ListedDifference, VerifyReport } from '../../pipelines/replay/types.ts';
import { type VerifyOutcome, verifyRegister } from '../../pipelines/replay/verify.ts';
import { clickhouseAccess, makeClickhouse } from '../../pipelines/runtime/clickhouse.ts';
import { archiveBlock, clickhouseBlock, databaseBlock } from '../../pipelines/runtime/config.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import { type PadronCommand, registerOf } from './arguments.ts';
import { openConfiguredArchive } from './catalogue.ts';
import type { CommandContext, OutputOptions } from './context.ts';
import { figure, ProgressLine } from './progress.ts';

/** These settings are one schema, so that one error names all missing settings. */
const verifySettings = databaseBlock.extend(clickhouseBlock.shape).extend(archiveBlock.shape);

const exitDiffers = 1;
const exitOnItsWay = 3;

type Verified = { register: RegisterName } & VerifyOutcome;

/** `padron verify`: checks that ClickHouse holds what the archive says. It changes nothing. */
export function addVerifyCommand(program: PadronCommand, context: CommandContext): void {
  program
    .command('verify')
    .description(
      'Proves that state, names and history are what the change files say, and the state what was published.',
    )
    .option('--register <register>', 'this register only', registerOf)
    .remarks(
      `The exit code is 0 when all is equal, ${exitDiffers} when something differs, and ${exitOnItsWay} when an edition is on its way: try again then.`,
    )
    .examples('verify', 'verify --register padron_reducido --json')
    .action(async (options: OutputOptions & { register?: RegisterName }) => {
      const stores = await openStores(context);
      const progress = new ProgressLine((text) => context.note(text));
      const found: Verified[] = [];
      for (const register of options.register === undefined ? registerNames : [options.register]) {
        const outcome = await verifyRegister(
          stores,
          register,
          ({ phase, rows, totalRows }) => progress.report(`${register} ${phase}`, rows, totalRows),
          new AbortController().signal,
        );
        found.push({ register, ...outcome });
      }
      context.show(options, found.map(documentOf), found.flatMap(linesOf));
      context.exitCode = exitCodeOf(found);
    });
}

async function openStores(context: CommandContext) {
  const config = context.configuration(verifySettings);
  const clickhouseTarget = clickhouseAccess(config);
  const archive = await openConfiguredArchive(context);
  return { pool: context.pool(), archive, clickhouseTarget, workDir: config.WORK_DIR };
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
  const verdict = report.equal ? 'equal' : `${figure(report.differences)} differences`;
  return [
    `${report.register} ${report.edition}: ${verdict}, ${figure(report.rows)} rows`,
    ...(report.equal ? [] : partsOf(report)),
    ...(report.publicationNote === null ? [] : [`  publication not compared: ${report.publicationNote}`]),
    ...report.listed.map(differenceLine),
  ];
}

function partsOf({ state, names, history, publication }: VerifyReport): string[] {
  const line = (name: string, { missing, extra, differs }: CheckReport) =>
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

/** Time limit of one statement in ClickHouse. Copying a large register is one statement and takes about a minute. */
const requestTimeoutMs = 3_600_000;

/**
 * Adds `padron rebuild`, which fills new ClickHouse tables of state, history and names from the archive. The old tables
 * answer look-ups until the new tables are complete and replace them.
 */
export function addRebuildCommand(program: PadronCommand, context: CommandContext): void {
  program
    .command('rebuild')
    .description(
      'Makes state and history anew from the change files, proves them, and exchanges them for the serving ones.',
    )
    .option('--register <register>', 'this register only; the others are copied as they are', registerOf)
    .remarks(
      `Look-ups go on during all of it. It needs room for a second copy of the tables. Refused while an edition is being published.
When it is ended half way, what serves is whole; run it again.`,
    )
    .examples('rebuild', 'rebuild --register agentes_retencion --json')
    .action(async (options: OutputOptions & { register?: RegisterName }) => {
      const stores = await openStores(context);
      const clickhouse = makeClickhouse(stores.clickhouseTarget, 'padron-rebuild', {
        requestTimeoutMs,
        connections: 2,
      });
      context.onEnd(() => clickhouse.close());
      const progress = new ProgressLine((text) => context.note(text));
      const rebuilt = await rebuild(
        { ...stores, clickhouse },
        options.register === undefined ? registerNames : [options.register],
        ({ phase, register, edition, rows, totalRows }) =>
          progress.report([phase, register, edition].filter((part) => part !== null).join(' '), rows, totalRows),
        new AbortController().signal,
      );
      const line = ({ register, edition, rows }: (typeof rebuilt)[number]) =>
        `${register} ${edition}: rebuilt, ${figure(rows)} rows`;
      context.showRows(options, rebuilt, line, 'No register has an edition yet.');
    });
}
