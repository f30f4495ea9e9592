import {
  archiveBlock,
  type ClickhouseConfiguration,
  clickhouseBlock,
  databaseBlock,
  kafkaBlock,
} from '../../../pipelines/runtime/config.ts';
import type { LostEdition } from '../../../pipelines/stream/adoption.ts';
import type { CheckedServer } from '../../../pipelines/stream/catalogue-check.ts';
import { type RegisterName, registerNames } from '../../../schemas/registers.ts';
import { type PadronCommand, registerOf } from '../arguments.ts';
import { openConfiguredArchive } from '../catalogue.ts';
import { type CommandContext, CommandError, type OutputOptions, wantedReplicas } from '../context.ts';
import { figure } from '../progress.ts';

/** These settings are one schema, so that one error names all missing settings. */
const settings = databaseBlock.extend(clickhouseBlock.shape).extend(kafkaBlock.shape).extend(archiveBlock.shape);

/** Time limit of one query in ClickHouse. The longest one reads the version of every row of a register. */
const requestTimeoutMs = 130_000;

interface AdoptOptions extends OutputOptions {
  register?: RegisterName;
  dryRun?: boolean;
}

/** `padron editions adopt`: brings a catalogue that was restored from an older backup up to Kafka and ClickHouse. */
export function addAdoptCommand(editions: PadronCommand, context: CommandContext): void {
  editions
    .command('adopt')
    .description('After PostgreSQL was restored: brings back the editions that Kafka or ClickHouse has and it lost.')
    .option('--register <register>', 'this register only', registerOf)
    .option('--dry-run', 'only lists them')
    .remarks(
      `Until then the worker makes no edition of the register, and its /readyz says why. Each edition comes from the archive with its
publication, counts and gates. The worker then finishes it within half a minute. An edition that Kafka has whole is not
sent again, and what the consumer "watch" had read makes no events again. All other editions are sent from their change
files. It can be repeated; \`padron verify\` proves the result.`,
    )
    .examples('editions adopt --dry-run', 'editions adopt', 'editions adopt --register padron_reducido --json')
    .action((options: AdoptOptions) => adopt(context, options));
}

async function adopt(context: CommandContext, options: AdoptOptions): Promise<void> {
  const { adoptEditions, findLostEditions } = await import('../../../pipelines/stream/adoption.ts');
  const dependencies = await openStores(context);
  const lost: LostEdition[] = [];
  // The lost editions of all registers are found before any is brought back. So if the archive lacks a file, the
  // command fails before it has changed anything.
  for (const register of options.register === undefined ? registerNames : [options.register]) {
    lost.push(...(await findLostEditions(dependencies, register)));
  }
  if (!options.dryRun) await adoptEditions(dependencies, lost);
  const rows = lost.map(({ archived: _, ...edition }) => ({ ...edition, adopted: !options.dryRun }));
  context.showRows(options, rows, editionLine, 'The catalogue has every edition that Kafka and ClickHouse have.');
  if (lost.length > 0 && options.dryRun) context.note('Nothing was changed. Leave --dry-run out to bring them back.');
  if (lost.length > 0 && !options.dryRun) {
    context.note('A worker finishes them within half a minute. Then prove them with: npx padron verify');
  }
}

async function openStores(context: CommandContext) {
  const config = context.configuration(settings);
  // The engines' clients are imported only here, because the other commands about editions do not need them.
  const { makeLogger } = await import('../../../pipelines/runtime/log.ts');
  const { connectKafka } = await import('../../../pipelines/runtime/kafka/connect.ts');
  const { kafkaConnection } = await import('../../../pipelines/runtime/kafka/connection.ts');
  const { connectOffsets } = await import('../../../pipelines/stream/kafka.ts');
  const log = makeLogger('adopt', 'fatal');
  const { kafka, close } = await connectKafka(kafkaConnection(config), 'padron-cli', log);
  context.onEnd(close);
  const offsets = await connectOffsets(kafka);
  context.onEnd(() => offsets.close());
  return {
    ...{ kafka, offsets, log, prefix: config.KAFKA_TOPIC_PREFIX, archiveUrl: config.ARCHIVE_URL },
    servers: await openServers(context, config),
    pool: context.pool(),
    archive: await openConfiguredArchive(context),
  };
}

/**
 * Every ClickHouse server that has our tables. One that does not answer may be the only one with an edition that Kafka
 * lost too, and another edition would then get this edition's number. So the command does not go on without it.
 */
async function openServers(context: CommandContext, config: ClickhouseConfiguration): Promise<CheckedServer[]> {
  const { makeClickhouse } = await import('../../../pipelines/runtime/clickhouse.ts');
  const { storeFacts } = await import('../../../pipelines/replicas/store.ts');
  const servers: CheckedServer[] = [];
  for (const { name, target } of wantedReplicas(config)) {
    const clickhouse = makeClickhouse(target, 'padron-cli', { requestTimeoutMs, connections: 1 });
    context.onEnd(() => clickhouse.close());
    const facts = await storeFacts(clickhouse).catch((error: Error) => {
      if (config.CLICKHOUSE_REPLICAS === undefined) throw error;
      const advice = `Start it. If it is lost, leave it out of CLICKHOUSE_REPLICAS for this command, and start it empty later.`;
      throw new CommandError(`The replica ${name} does not answer: ${error.message}`, advice);
    });
    if (facts.id !== null) servers.push({ clickhouse, replica: name });
  }
  return servers;
}

type ShownEdition = Omit<LostEdition, 'archived'> & { adopted: boolean };

function editionLine({ register, number, fecha_dato, changes, corrects, in_kafka, adopted }: ShownEdition): string {
  const parts = [`${register} ${number}`, fecha_dato, `${figure(changes)} changes`];
  if (corrects !== null) parts.push(`undoes ${corrects}`);
  parts.push(in_kafka ? 'whole in Kafka' : 'not whole in Kafka: it is sent again, with its events');
  parts.push(adopted ? 'brought back' : 'lost by the catalogue');
  return parts.join('  ');
}
