import { clickhouseAccess } from '../../pipelines/runtime/clickhouse.ts';
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
import { prepareStreams } from '../../pipelines/stream/prepare.ts';
import { connectRegistry, registryAccess } from '../../pipelines/stream/registry.ts';
import { connectSchemaImport, restoreSchemas, SchemaArchive } from '../../pipelines/stream/schema-archive.ts';
import { outputsOf } from '../../pipelines/stream/topics.ts';
import { registerNames } from '../../schemas/registers.ts';
import { type PadronCommand, wholeNumber } from './arguments.ts';
import type { CommandContext, OutputOptions } from './context.ts';
import { requireEngines } from './engines.ts';

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
    .remarks('One migration runs at a time. A second one says for whom it waits, and then finds its work done.')
    .examples('migrate')
    .action(async (options: OutputOptions & { lockWait: number }) => {
      const config = context.configuration(migrationSettings);
      await requireEngines(context);
      const lock = { waitMs: options.lockWait * 1_000, note: (line: string) => context.note(line) };
      const done = await withMigrationLock(
        config.MIGRATION_DATABASE_URL ?? config.DATABASE_URL,
        lock,
        async (client, lost) => {
          const postgres = await migratePostgres(client);
          context.note(`PostgreSQL: ${postgres.length === 0 ? 'up to date' : postgres.join(', ')}`);
          await migrateClickhouse(clickhouseAccess(config), lost);
          context.note('ClickHouse: up to date');
          lost.throwIfAborted();
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
        },
      );
      context.show(options, done, 'Everything is up to date.');
    });
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
