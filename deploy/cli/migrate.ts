import type { Command } from 'commander';
import { archiveBlock, clickhouseBlock, databaseBlock, kafkaBlock } from '../../pipelines/runtime/config.ts';
import { makeKafka } from '../../pipelines/runtime/kafka.ts';
import { makeLogger } from '../../pipelines/runtime/log.ts';
import { migrateClickhouse, migratePostgres } from '../../pipelines/runtime/migrate.ts';
import { prepareStreams } from '../../pipelines/stream/prepare.ts';
import { connectRegistry } from '../../pipelines/stream/registry.ts';
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
