import { syncReplicas } from '../../pipelines/replicas/catalogue.ts';
import type { ReplicaServer } from '../../pipelines/runtime/clickhouse.ts';
import {
  archiveBlock,
  clickhouseBlock,
  databaseBlock,
  kafkaBlock,
  migrationBlock,
} from '../../pipelines/runtime/config.ts';
import { connectKafka } from '../../pipelines/runtime/kafka/connect.ts';
import { kafkaConnection } from '../../pipelines/runtime/kafka/connection.ts';
import { makeLogger } from '../../pipelines/runtime/log.ts';
import { migrateClickhouse, migratePostgres } from '../../pipelines/runtime/migrate.ts';
import { withMigrationLock } from '../../pipelines/runtime/migrations/lock.ts';
import { defaultReplica } from '../../pipelines/runtime/replica-settings.ts';
import { prepareStreams } from '../../pipelines/stream/prepare.ts';
import { connectRegistry, registryAccess } from '../../pipelines/stream/registry.ts';
import { connectSchemaImport, restoreSchemas, SchemaArchive } from '../../pipelines/stream/schema-archive.ts';
import { outputsOf } from '../../pipelines/stream/topics.ts';
import { registerNames } from '../../schemas/registers.ts';
import { type PadronCommand, wholeNumber } from './arguments.ts';
import { type CommandContext, type OutputOptions, wantedReplicas } from './context.ts';
import { requireEngines } from './engines.ts';
import { explain } from './failures.ts';

const schemaSettings = kafkaBlock.extend({ ARCHIVE_URL: archiveBlock.shape.ARCHIVE_URL });
const migrationSettings = databaseBlock
  .extend(migrationBlock.shape)
  .extend(clickhouseBlock.shape)
  .extend(schemaSettings.shape);

/** How long `--lock-wait` is when it is not given: ten minutes, as long as one statement may take. */
const defaultLockWaitSeconds = 600;

/** Adds `padron migrate`, which makes the tables, schemas and topics of all processes, or brings them up to date. */
export function addMigrateCommand(program: PadronCommand, context: CommandContext): void {
  program
    .command('migrate')
    .description('Brings databases, schemas and topics up to date. Run it before a new release starts; repeatable.')
    .option('--lock-wait <seconds>', 'how long to wait for another migration', wholeNumber, defaultLockWaitSeconds)
    .option('--replica <name>', 'only the tables of this replica of CLICKHOUSE_REPLICAS')
    .remarks(
      `One migration runs at a time. A second one says for whom it waits, and then finds its work done.
A replica that CLICKHOUSE_REPLICAS no longer names is taken out: it is asked no more. One that does not answer is left as
it is, and serves only after \`migrate --replica\`.`,
    )
    .examples('migrate', 'migrate --replica b')
    .action(async (options: OutputOptions & { lockWait: number; replica?: string }) => {
      const config = context.configuration(migrationSettings);
      await requireEngines(context);
      const replicas = wantedReplicas(config, options.replica);
      const database = config.MIGRATION_DATABASE_URL ?? config.DATABASE_URL;
      const lock = { waitMs: options.lockWait * 1_000, note: (line: string) => context.note(line) };
      const done = await withMigrationLock(database, lock, async (client, lost) => {
        if (options.replica !== undefined) {
          await migrateReplicas(context, replicas, lost);
          return { replica: options.replica };
        }
        const postgres = await migratePostgres(client);
        context.note(`PostgreSQL: ${postgres.length === 0 ? 'up to date' : postgres.join(', ')}`);
        await migrateReplicas(context, replicas, lost);
        lost.throwIfAborted();
        await noteReplicas(context, replicas);
        const log = makeLogger('migrate', 'fatal');
        const { kafka, close } = await connectKafka(kafkaConnection(config), 'padron-migrate', log);
        context.onEnd(close);
        const schemas = await prepareStreams({
          kafka,
          registry: connectRegistry(registryAccess(config)),
          pool: context.pool(),
          archiveUrl: config.ARCHIVE_URL,
          prefix: config.KAFKA_TOPIC_PREFIX,
        });
        context.note(`Kafka: topics and schemas of ${Object.keys(schemas).length} registers are there`);
        return { postgres, schemas };
      });
      context.show(options, done, 'Everything is up to date.');
    });
}

/** One of several replicas may be down for long, and the others must not wait for it. @throws when none was migrated */
async function migrateReplicas(
  context: CommandContext,
  replicas: readonly ReplicaServer[],
  lost: AbortSignal,
): Promise<void> {
  const failures: unknown[] = [];
  for (const { name, target } of replicas) {
    const title = replicas.length === 1 && name === defaultReplica ? 'ClickHouse' : `ClickHouse ${name}`;
    try {
      await migrateClickhouse(target, lost);
      context.note(`${title}: up to date`);
    } catch (error) {
      lost.throwIfAborted();
      failures.push(error);
      if (failures.length === replicas.length) throw error;
      context.note(`${title}: NOT migrated: ${explain(error)}`);
    }
  }
}

/** Gives the catalogue the replicas of this configuration. */
async function noteReplicas(context: CommandContext, replicas: readonly ReplicaServer[]): Promise<void> {
  const names = replicas.map(({ name }) => name);
  const { added, removed } = await syncReplicas(context.pool(), names);
  for (const name of added) context.note(`replica ${name}: new, it serves once it has caught up`);
  for (const name of removed) context.note(`replica ${name}: taken out`);
}

/**
 * Adds `padron schemas list|restore`. Every record in Kafka names its schema by a number, and the archive keeps which
 * number belongs to which schema.
 */
export function addSchemasCommands(program: PadronCommand, context: CommandContext): void {
  const schemas = program
    .command('schemas')
    .description('Schemas of the records in Kafka, by the numbers they name.')
    .examples('schemas list');

  schemas
    .command('list')
    .description('What the archive keeps: the map that a lost registry is restored from.')
    .examples('schemas list')
    .action(async (options: OutputOptions) => {
      const config = context.configuration(schemaSettings);
      const archive = new SchemaArchive(config.ARCHIVE_URL);
      const rows: { subject: string; id: number }[] = [];
      for (const subject of subjectsOf(config.KAFKA_TOPIC_PREFIX)) {
        for (const { id } of await archive.schemasOf(subject)) rows.push({ subject, id });
      }
      const none = 'The archive keeps no schemas yet: run `npx padron migrate`.';
      context.showRows(options, rows, ({ subject, id }) => `${id}\t${subject}`, none);
    });

  schemas
    .command('restore')
    .description('Gives an empty registry its schemas back, under the same numbers. Overwrites nothing; repeatable.')
    .remarks('When: the registry lost its storage, and processes refuse to start with "schema_differs".')
    .examples('schemas restore', 'schemas restore --json')
    .action(async (options: OutputOptions) => {
      const config = context.configuration(schemaSettings);
      const stores = {
        registry: connectRegistry(registryAccess(config)),
        importing: connectSchemaImport(registryAccess(config)),
        archive: new SchemaArchive(config.ARCHIVE_URL),
      };
      const rows = await restoreSchemas(stores, subjectsOf(config.KAFKA_TOPIC_PREFIX));
      const line = ({ subject, id, outcome }: (typeof rows)[number]) => `${id}\t${subject}\t${outcome}`;
      context.showRows(options, rows, line, 'The archive keeps no schemas: nothing to restore.');
    });
}

function subjectsOf(prefix: string): string[] {
  return registerNames.flatMap((register) => outputsOf(prefix, register).map(({ subject }) => subject));
}
