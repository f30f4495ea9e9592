import { fstatSync, type Stats, statSync } from 'node:fs';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import { Option } from 'commander';
import { exportedChanges, replayIntoKafka, writeNdjson, writeParquet } from '../../pipelines/replay/export.ts';
import { writeOutputFile } from '../../pipelines/replay/output-file.ts';
import { type Bound, type SelectedEdition, selectEditions } from '../../pipelines/replay/plan.ts';
import { ReplayError } from '../../pipelines/replay/types.ts';
import { archiveBlock, databaseBlock, kafkaBlock } from '../../pipelines/runtime/config.ts';
import { connectKafka } from '../../pipelines/runtime/kafka/connect.ts';
import { kafkaConnection } from '../../pipelines/runtime/kafka/connection.ts';
import { makeLogger } from '../../pipelines/runtime/log.ts';
import { connectRegistry, registryAccess } from '../../pipelines/stream/registry.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { dayOf, filled, type PadronCommand, registerArgument, registerOf, wholeNumber } from './arguments.ts';
import { openConfiguredArchive } from './catalogue.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';
import { figure, ProgressLine } from './progress.ts';

interface ReplayOptions extends OutputOptions {
  register: RegisterName;
  from: Bound;
  to: Bound;
  into: 'ndjson' | 'parquet' | 'kafka';
  out?: string;
}

/** File descriptor of standard output. */
const standardOutput = 1;
/** One Ctrl-C may come twice: from the terminal, and passed on by npx. */
const sameKeyPressMs = 1_000;
const settings = databaseBlock.extend(archiveBlock.shape);

/** `padron replay`: reads the changes of a range of editions from the archive and exports them. */
export function addReplayCommand(program: PadronCommand, context: CommandContext): void {
  program
    .command('replay')
    .description(
      'Gives every change of a stretch of editions: as lines, as a Parquet file, or into the topic once more.',
    )
    .requiredOption('--register <register>', registerArgument, registerOf)
    .requiredOption(
      '--from <edition|date>',
      'number of the first edition, or first date of the data (YYYY-MM-DD)',
      boundOf,
    )
    .requiredOption('--to <edition|date>', 'number of the last edition, or last date; included', boundOf)
    .addOption(
      new Option('--into <form>', 'what it becomes').choices(['ndjson', 'parquet', 'kafka']).makeOptionMandatory(),
    )
    .option('--out <file>', 'the file to write; "-" is standard output, where ndjson goes without --out')
    .jsonOption('one JSON document on standard output: what was replayed')
    .remarks(
      `Records in Kafka get the header "replay": consumers of the state take them as any other, and no customer is notified again.
The files hold natural persons' data: a new one is readable for its owner alone, one that is replaced keeps its mode.
A file gets its name when it is complete, and only one command at a time writes it.`,
    )
    .examples(
      'replay --register padron_reducido --from 2026-11-01 --to 2026-11-30 --into parquet --out november.parquet',
      'replay --register sancionados --from 1 --to 7 --into ndjson | jq -r .ruc',
      'replay --register padron_reducido --from 12 --to 12 --into kafka',
    )
    .action(async (options: ReplayOptions) => {
      const file = fileOf(options);
      context.configuration(options.into === 'kafka' ? settings.extend(kafkaBlock.shape) : settings);
      const signal = untilInterrupted(context);
      // `runInto` opens the file before it calls `run`. So a name that cannot be written fails before editions are
      // fetched.
      const run = async (out: Writable) => {
        const editions = await editionsOf(context, options);
        return { editions, rows: await replay(context, options, editions, out, signal) };
      };
      const running = file === null ? run(context.output) : runInto(context, file, run);
      const { editions, rows } = await running.catch((error: unknown) => {
        throw signal.aborted ? signal.reason : error;
      });
      const [first, last] = [editions[0]!.edition, editions.at(-1)!.edition];
      const document = { register: options.register, from: first, to: last, rows, into: options.into };
      const line = `${options.register} ${first} to ${last}: ${figure(rows)} changes`;
      if (file === null && options.into !== 'kafka') context.note(line);
      else context.show(options, { ...document, out: options.out ?? null }, line);
    });
}

async function editionsOf(context: CommandContext, { register, from, to }: ReplayOptions): Promise<SelectedEdition[]> {
  const stores = { pool: context.pool(), archive: await openConfiguredArchive(context) };
  try {
    return await selectEditions(stores, register, from, to);
  } catch (error) {
    if (!(error instanceof ReplayError) || error.code !== 'edition_unknown') throw error;
    throw new CommandError(`${error.message}.`, `See them with: npx padron editions list --register ${register}`);
  }
}

/**
 * Returns the file to write, or null for standard output and for Kafka.
 * @throws CommandError when the form and the output do not fit
 */
function fileOf({ into, out, json }: ReplayOptions): string | null {
  if (into === 'kafka') {
    if (out === undefined) return null;
    throw new CommandError('Nothing is written to a file with --into kafka.', 'Leave --out out.');
  }
  if (into === 'parquet' && out === undefined)
    throw new CommandError('A Parquet file needs a name.', 'Add --out FILE, or --out - for standard output.');
  const name = out === undefined ? '-' : filled(out, '--out');
  const found = name === '-' ? undefined : statSync(name, { throwIfNoEntry: false });
  if (name === '-' || isStandardOutput(found)) {
    if (!json) return null;
    throw new CommandError('Standard output is for the changes themselves.', 'Add --out FILE, or leave --json out.');
  }
  if (found?.isFile() === false || name.endsWith('/'))
    throw new CommandError(`${name} is no file.`, 'Give the name of a file after --out, or - for standard output.');
  return name;
}

/** Also true for /dev/stdout, and for a file that the shell has opened as standard output of this command. */
function isStandardOutput(found: Stats | undefined): boolean {
  const own = fstatSync(standardOutput);
  return found !== undefined && found.dev === own.dev && found.ino === own.ino;
}

/**
 * Returns a signal that Ctrl-C and SIGTERM abort, so that no partial file is left. A second Ctrl-C ends the process. A
 * terminal that is gone (SIGHUP) ends nothing: the work goes on as long as its output can be written.
 */
function untilInterrupted(context: CommandContext): AbortSignal {
  const interrupted = new AbortController();
  let firstAt = Number.POSITIVE_INFINITY;
  const stop = (name: NodeJS.Signals) => {
    // A shell reports the same exit code for a program that this signal has ended.
    const exitCode = 128 + constants.signals[name];
    if (Date.now() - firstAt > sameKeyPressMs) process.exit(exitCode);
    if (interrupted.signal.aborted) return;
    firstAt = Date.now();
    context.note(`${name}: stopping. Another one ends the command at once.`);
    interrupted.abort(new CommandError('The replay was interrupted.', 'Run it again for all of it.', exitCode));
  };
  const goOn = () => {};
  process.on('SIGINT', stop).on('SIGTERM', stop).on('SIGHUP', goOn);
  context.onEnd(() => process.off('SIGINT', stop).off('SIGTERM', stop).off('SIGHUP', goOn));
  return interrupted.signal;
}

async function runInto<Result>(context: CommandContext, file: string, run: (out: Writable) => Promise<Result>) {
  try {
    return await writeOutputFile(file, run, (text) => context.note(text));
  } catch (error) {
    if (!(error instanceof ReplayError) || error.code !== 'output_in_use') throw error;
    throw new CommandError(`${error.message}.`, 'Wait until it has ended, or give another name after --out.');
  }
}

async function replay(
  context: CommandContext,
  { register, into }: ReplayOptions,
  editions: readonly SelectedEdition[],
  out: Writable,
  signal: AbortSignal,
): Promise<number> {
  const total = editions.reduce((sum, { changes }) => sum + changes, 0);
  const progress = new ProgressLine((text) => context.note(text));
  const report = (rows: number) => progress.report(`${register} into ${into}`, rows, total);
  if (into === 'ndjson') return await writeNdjson(exportedChanges(editions), out, report, signal);
  if (into === 'parquet') return await writeParquet(register, exportedChanges(editions), out, report, signal);
  const config = context.configuration(kafkaBlock);
  const connection = kafkaConnection(config);
  const log = makeLogger('replay', 'fatal');
  // A wrong setting ends the command here. The producer would retry for minutes.
  await (await connectKafka(connection, 'padron-cli', log)).close();
  const stream = {
    pool: context.pool(),
    connection,
    registry: connectRegistry(registryAccess(config)),
    prefix: config.KAFKA_TOPIC_PREFIX,
    log,
  };
  return await replayIntoKafka(stream, editions, report, signal);
}

function boundOf(text: string): Bound {
  return /^[0-9]+$/.test(text) ? { edition: wholeNumber(text) } : { date: dayOf(text) };
}
