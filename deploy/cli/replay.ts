import { createWriteStream, statSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Option } from 'commander';
import { exportedChanges, replayIntoKafka, writeNdjson, writeParquet } from '../../pipelines/replay/export.ts';
import { type Bound, type SelectedEdition, selectEditions } from '../../pipelines/replay/plan.ts';
import { ReplayError } from '../../pipelines/replay/types.ts';
import { archiveBlock, databaseBlock, kafkaBlock } from '../../pipelines/runtime/config.ts';
import { writeWholeFile } from '../../pipelines/runtime/durable-files.ts';
import { makeLogger } from '../../pipelines/runtime/log.ts';
import { connectRegistry } from '../../pipelines/stream/registry.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { dayOf, type PadronCommand, registerArgument, registerOf, wholeNumber } from './arguments.ts';
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

/** Nothing aborts this signal. Ctrl-C ends the whole process, and a file gets its final name only when complete. */
const signal = new AbortController().signal;
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
    .option('--out <file>', 'the file to write; ndjson goes to standard output without it')
    .jsonOption('one JSON document on standard output: what was replayed')
    .remarks(
      `Records in Kafka get the header "replay": consumers of the state take them as any other, and no customer is notified again.
The files hold natural persons' data: they are the operator's to keep.`,
    )
    .examples(
      'replay --register padron_reducido --from 2026-11-01 --to 2026-11-30 --into parquet --out november.parquet',
      'replay --register sancionados --from 1 --to 7 --into ndjson | jq -r .ruc',
      'replay --register padron_reducido --from 12 --to 12 --into kafka',
    )
    .action(async (options: ReplayOptions) => {
      checkOutput(options);
      context.configuration(options.into === 'kafka' ? settings.extend(kafkaBlock.shape) : settings);
      const editions = await editionsOf(context, options);
      const rows = await replay(context, options, editions);
      const [first, last] = [editions[0]!.edition, editions.at(-1)!.edition];
      const document = { register: options.register, from: first, to: last, rows, into: options.into };
      const line = `${options.register} ${first} to ${last}: ${figure(rows)} changes`;
      if (options.into === 'ndjson' && options.out === undefined) context.note(line);
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

function checkOutput({ into, out, json }: ReplayOptions): void {
  // The finished file is renamed to `out`. The rename would replace a device file, and would fail for a directory.
  if (out !== undefined && statSync(out, { throwIfNoEntry: false })?.isFile() === false)
    throw new CommandError(`${out} is there and is no file.`, 'Give the name of the file to write after --out.');
  if (into === 'parquet' && out === undefined)
    throw new CommandError('A Parquet file needs a name.', 'Add --out FILE.');
  if (into === 'kafka' && out !== undefined) throw new CommandError('Nothing is written to a file with --into kafka.');
  if (into === 'ndjson' && out === undefined && json) {
    throw new CommandError('Standard output is for the changes themselves.', 'Add --out FILE, or leave --json out.');
  }
}

async function replay(context: CommandContext, options: ReplayOptions, editions: readonly SelectedEdition[]) {
  const { register, into, out } = options;
  const total = editions.reduce((sum, { changes }) => sum + changes, 0);
  const progress = new ProgressLine((text) => context.note(text));
  const report = (rows: number) => progress.report(`${register} into ${into}`, rows, total);
  if (into === 'parquet') return await writeParquet(register, exportedChanges(editions), out!, report, signal);
  if (into === 'kafka') {
    const config = context.configuration(kafkaBlock);
    const stream = {
      pool: context.pool(),
      brokers: config.KAFKA_BROKERS,
      registry: connectRegistry(config.SCHEMA_REGISTRY_URL),
      prefix: config.KAFKA_TOPIC_PREFIX,
      log: makeLogger('replay', 'fatal'),
    };
    return await replayIntoKafka(stream, editions, report, signal);
  }
  const write = (to: Writable) => writeNdjson(exportedChanges(editions), to, report, signal);
  if (out === undefined) return await write(context.output);
  return await writeWholeFile(out, `${out}.partial`, async (partial) => {
    const file = createWriteStream(partial);
    try {
      const rows = await write(file);
      await finished(file.end());
      return rows;
    } finally {
      file.destroy();
    }
  });
}

function boundOf(text: string): Bound {
  return /^[0-9]+$/.test(text) ? { edition: wholeNumber(text) } : { date: dayOf(text) };
}
