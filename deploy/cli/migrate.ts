import type { Command } from 'commander';
import { archiveBlock, clickhouseBlock, databaseBlock, kafkaBlock } from '../../pipelines/runtime/config.ts';
import { makeKafka } from '../../pipelines/runtime/kafka.ts';
import { makeLogger } from '../../pipelines/runtime/log.ts';
import { migrateClickhouse, migratePostgres } from '../../pipelines/runtime/migrate.ts';
import { prepareStreams } from '../../pipelines/stream/prepare.ts';
import { connectRegistry } from '../../pipelines/stream/registry.ts';
import { connectSchemaImport, restoreSchemas, SchemaArchive } from '../../pipelines/stream/schema-archive.ts';
import { outputsOf } from '../../pipelines/stream/topics.ts';
import { registerNames } from '../../schemas/registers.ts';
import type { CommandContext, OutputOptions } from './context.ts';

const configuration = databaseBlock
  .extend(clickhouseBlock.shape)
  .extend(kafkaBlock.shape)
  .extend({ ARCHIVE_URL: archiveBlock.shape.ARCHIVE_URL });

/** `padron migrate`: everything the processes expect to find, made or brought up to date. Repeatable. */
export function registerMigrateCommand(program: Command, context: CommandContext): void {
  program
    .command('migrate')
    .description('Brings databases, schemas and topics up to date. Run it before a new release starts; repeatable.')
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron migrate')
    .action(async (options: OutputOptions) => {
      const config = context.configuration(configuration);
      const applied = await migratePostgres(config.DATABASE_URL);
      context.note(`PostgreSQL: ${applied.length === 0 ? 'up to date' : applied.join(', ')}`);
      await migrateClickhouse(config.CLICKHOUSE_URL);
      context.note('ClickHouse: up to date');
      const parts = {
        kafka: makeKafka(config.KAFKA_BROKERS, 'padron-migrate', makeLogger('migrate', 'fatal')),
        registry: connectRegistry(config.SCHEMA_REGISTRY_URL),
        pool: context.pool(),
        archiveUrl: config.ARCHIVE_URL,
        prefix: config.KAFKA_TOPIC_PREFIX,
      };
      const schemas = await prepareStreams(parts);
      context.note(`Kafka: topics and schemas of ${Object.keys(schemas).length} registers are there`);
      context.show(options, { postgres: applied, schemas }, 'Everything is up to date.');
    });
}

const schemasConfiguration = kafkaBlock.extend({ ARCHIVE_URL: archiveBlock.shape.ARCHIVE_URL });

/** `padron schemas list|restore`: which schema each number in Kafka stands for. */
export function registerSchemasCommands(program: Command, context: CommandContext): void {
  const schemas = program
    .command('schemas')
    .description('Schemas of the records in Kafka, by the numbers they name.')
    .addHelpText('after', '\nExample:\n  $ npx padron schemas list');

  schemas
    .command('list')
    .description('What the archive keeps: the map that a lost registry is restored from.')
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron schemas list')
    .action(async (options: OutputOptions) => {
      const config = context.configuration(schemasConfiguration);
      const archive = new SchemaArchive(config.ARCHIVE_URL);
      const rows: { subject: string; id: number }[] = [];
      for (const subject of subjectsOf(config.KAFKA_TOPIC_PREFIX)) {
        for (const { id } of await archive.schemasOf(subject)) rows.push({ subject, id });
      }
      const none = 'The archive keeps no schemas yet: run `npx padron migrate`.';
      context.show(options, rows, rows.length === 0 ? none : rows.map(({ subject, id }) => `${id}\t${subject}`));
    });

  schemas
    .command('restore')
    .description('Gives an empty registry its schemas back, under the same numbers. Overwrites nothing; repeatable.')
    .option('--json', 'one JSON document on standard output')
    .addHelpText(
      'after',
      `
When: the registry lost its storage, and processes refuse to start with "schema_differs".

Examples:
  $ npx padron schemas restore
  $ npx padron schemas restore --json`,
    )
    .action(async (options: OutputOptions) => {
      const config = context.configuration(schemasConfiguration);
      const parts = {
        registry: connectRegistry(config.SCHEMA_REGISTRY_URL),
        importing: connectSchemaImport(config.SCHEMA_REGISTRY_URL),
        archive: new SchemaArchive(config.ARCHIVE_URL),
      };
      const rows = await restoreSchemas(parts, subjectsOf(config.KAFKA_TOPIC_PREFIX));
      const lines = rows.map(({ subject, id, outcome }) => `${id}\t${subject}\t${outcome}`);
      context.show(options, rows, rows.length === 0 ? 'The archive keeps no schemas: nothing to restore.' : lines);
    });
}

function subjectsOf(prefix: string): string[] {
  return registerNames.flatMap((register) => outputsOf(prefix, register).map(({ subject }) => subject));
}
