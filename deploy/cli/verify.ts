import { rebuild } from '../../pipelines/replay/rebuild.ts';
import type { CheckReport, ListedDifference, VerifyReport } from '../../pipelines/replay/types.ts';
import { type VerifyOutcome, verifyRegister } from '../../pipelines/replay/verify.ts';
import { takeRebuilt } from '../../pipelines/replicas/rebuilt.ts';
import { type ClickHouseClient, makeClickhouse } from '../../pipelines/runtime/clickhouse.ts';
import { archiveBlock, clickhouseBlock, databaseBlock, kafkaBlock } from '../../pipelines/runtime/config.ts';
import { connectKafka } from '../../pipelines/runtime/kafka/connect.ts';
import { kafkaConnection } from '../../pipelines/runtime/kafka/connection.ts';
import { makeLogger } from '../../pipelines/runtime/log.ts';
import { connectOffsets } from '../../pipelines/stream/kafka.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import { type PadronCommand, registerOf } from './arguments.ts';
import { openConfiguredArchive } from './catalogue.ts';
import { type CommandContext, type OutputOptions, wantedReplicas } from './context.ts';
import { figure, ProgressLine } from './progress.ts';

/** These settings are one schema, so that one error names all missing settings. */
const verifySettings = databaseBlock.extend(clickhouseBlock.shape).extend(archiveBlock.shape);

const exitDiffers = 1;
const exitOnItsWay = 3;

/** `replica` is null with a single ClickHouse server. */
type Verified = { register: RegisterName; replica: string | null } & VerifyOutcome;

/** `padron verify`: checks that ClickHouse holds what the archive says. It changes nothing. */
export function addVerifyCommand(program: PadronCommand, context: CommandContext): void {
  program
    .command('verify')
    .description(
      'Proves that state, names and history are what the change files say, and the state what was published.',
    )
    .option('--register <register>', 'this register only', registerOf)
    .option('--replica <name>', 'this replica of CLICKHOUSE_REPLICAS only; otherwise all, one after another')
    .remarks(
      `The exit code is 0 when all is equal, ${exitDiffers} when something differs, and ${exitOnItsWay} when an edition is on its way: try again then.`,
    )
    .examples('verify', 'verify --register padron_reducido --json')
    .action(async (options: OutputOptions & WantedOptions) => {
      const progress = new ProgressLine((text) => context.note(text));
      const found: Verified[] = [];
      for (const stores of await openStores(context, options)) {
        for (const register of options.register === undefined ? registerNames : [options.register]) {
          const { replica } = stores;
          const title = replica === undefined ? register : `${replica} ${register}`;
          const outcome = await verifyRegister(
            stores,
            register,
            ({ phase, rows, totalRows }) => progress.report(`${title} ${phase}`, rows, totalRows),
            new AbortController().signal,
          );
          found.push({ register, replica: replica ?? null, ...outcome });
        }
      }
      context.show(options, found.map(documentOf), found.flatMap(linesOf));
      context.exitCode = exitCodeOf(found);
    });
}

interface WantedOptions {
  register?: RegisterName;
  replica?: string;
}

/** The wanted ClickHouse servers, each with the catalogue and the archive. A single server has no `replica`. */
async function openStores(context: CommandContext, { replica }: WantedOptions) {
  const config = context.configuration(verifySettings);
  const archive = await openConfiguredArchive(context);
  const isOnly = config.CLICKHOUSE_REPLICAS === undefined;
  return wantedReplicas(config, replica).map(({ name, target }) => ({
    ...{ pool: context.pool(), archive, clickhouseTarget: target, workDir: config.WORK_DIR },
    ...(isOnly ? {} : { replica: name }),
  }));
}

function exitCodeOf(found: readonly Verified[]): number {
  if (found.some((one) => one.kind === 'verified' && !one.report.equal)) return exitDiffers;
  return found.some(({ kind }) => kind === 'on_its_way') ? exitOnItsWay : 0;
}

function documentOf(found: Verified): unknown {
  const replica = found.replica === null ? {} : { replica: found.replica };
  if (found.kind === 'verified') return { ...replica, ...found.report };
  return found.kind === 'no_edition'
    ? { ...replica, register: found.register, edition: null }
    : { ...replica, register: found.register, edition: found.edition, onItsWay: true };
}

function linesOf(found: Verified): string[] {
  const title = found.replica === null ? found.register : `${found.replica} ${found.register}`;
  if (found.kind === 'no_edition') return [`${title}: no edition yet`];
  if (found.kind === 'on_its_way') {
    return [`${title}: edition ${found.edition} is on its way, try again`];
  }
  const { report } = found;
  const verdict = report.equal ? 'equal' : `${figure(report.differences)} differences`;
  return [
    `${title} ${report.edition}: ${verdict}, ${figure(report.rows)} rows`,
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
    .option('--replica <name>', 'this replica of CLICKHOUSE_REPLICAS only; otherwise all, one after another')
    .remarks(
      `Look-ups go on during all of it. It needs room for a second copy of the tables. Refused while an edition is being published.
When it is ended half way, what serves is whole; run it again.`,
    )
    .examples('rebuild', 'rebuild --register agentes_retencion --json')
    .action(async (options: OutputOptions & WantedOptions) => {
      const progress = new ProgressLine((text) => context.note(text));
      const wanted = options.register === undefined ? registerNames : [options.register];
      const all: { register: RegisterName; edition: number; rows: number; replica?: string }[] = [];
      for (const stores of await openStores(context, options)) {
        const { replica } = stores;
        const clickhouse = makeClickhouse(stores.clickhouseTarget, 'padron-rebuild', {
          requestTimeoutMs,
          connections: 2,
        });
        context.onEnd(() => clickhouse.close());
        const rebuilt = await rebuild(
          { ...stores, clickhouse },
          wanted,
          ({ phase, register, edition, rows, totalRows }) =>
            progress.report(
              [replica ?? null, phase, register, edition].filter((part) => part !== null).join(' '),
              rows,
              totalRows,
            ),
          new AbortController().signal,
        );
        all.push(...rebuilt.map((one) => ({ ...one, ...(replica !== undefined && { replica }) })));
        if (replica !== undefined && options.register === undefined)
          await goOnAfter(context, replica, clickhouse, rebuilt);
      }
      const line = ({ replica, register, edition, rows }: (typeof all)[number]) =>
        `${replica === undefined ? '' : `${replica} `}${register} ${edition}: rebuilt, ${figure(rows)} rows`;
      context.showRows(options, all, line, 'No register has an edition yet.');
    });
}

/** Consumers of the replica that run keep their place in the topics, so that it serves once they have read them. */
async function goOnAfter(
  context: CommandContext,
  name: string,
  clickhouse: ClickHouseClient,
  rebuilt: readonly { register: RegisterName; edition: number }[],
): Promise<void> {
  const config = context.configuration(kafkaBlock);
  const { kafka, close } = await connectKafka(
    kafkaConnection(config),
    'padron-rebuild',
    makeLogger('rebuild', 'fatal'),
  );
  context.onEnd(close);
  const offsets = await connectOffsets(kafka);
  context.onEnd(() => offsets.close());
  const replica = { pool: context.pool(), kafka, offsets, prefix: config.KAFKA_TOPIC_PREFIX, name, clickhouse };
  await takeRebuilt(replica, rebuilt).catch((error: Error) =>
    context.note(
      `replica ${name}: rebuilt, but it serves only after its consumers have read the topics: ${error.message}`,
    ),
  );
}
