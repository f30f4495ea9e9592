import { clickhouseAccessOf, clickhouseCheck, makeClickhouse, replicasOf } from '../../pipelines/runtime/clickhouse.ts';
import {
  clickhouseBlock,
  databaseBlock,
  kafkaBlock,
  migrationBlock,
  temporalBlock,
} from '../../pipelines/runtime/config.ts';
import { askEngine, type EngineCheck } from '../../pipelines/runtime/engines/check.ts';
import type { EngineError } from '../../pipelines/runtime/engines/failure.ts';
import { engineFloors } from '../../pipelines/runtime/engines/floors.ts';
import { connectKafka } from '../../pipelines/runtime/kafka/connect.ts';
import { kafkaConnection } from '../../pipelines/runtime/kafka/connection.ts';
import { makeLogger } from '../../pipelines/runtime/log.ts';
import { databaseCheck, makePool } from '../../pipelines/runtime/postgres.ts';
import { makeLazyTemporal, temporalAccess, temporalCheck } from '../../pipelines/runtime/temporal.ts';
import { registryAccess, registryCheck } from '../../pipelines/stream/registry.ts';
import type { PadronCommand } from './arguments.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';

/** The check of Kafka has its own limit of 8 s, and should say why before this one ends it. */
const askMs = 9_000;

/** All settings are optional, because a process may use only some engines. */
const settings = databaseBlock
  .extend({ ...migrationBlock.shape, ...clickhouseBlock.shape, ...kafkaBlock.shape, ...temporalBlock.shape })
  .partial({
    DATABASE_URL: true,
    CLICKHOUSE_URL: true,
    KAFKA_BROKERS: true,
    SCHEMA_REGISTRY_URL: true,
    TEMPORAL_ADDRESS: true,
  });

/** `padron engines`: whether the engines of the settings can be used. */
export function addEnginesCommand(program: PadronCommand, context: CommandContext): void {
  program
    .command('engines')
    .description('Asks each engine whether it takes our login and certificates, and whether its version is new enough.')
    .remarks(
      `Asks only the engines whose address is set, each at most 9 s, and changes nothing. \`--check-config\` of the three processes
looks at the settings alone and connects to nothing.`,
    )
    .examples('engines', 'engines --json')
    .action(async (options: OutputOptions) => {
      const rows = await Promise.all(engineChecks(context, true).map(report));
      const failed = rows.filter(({ problem }) => problem !== null);
      context.showRows(options, rows, lineOf, 'No address of an engine is set.');
      if (failed.length > 0) context.exitCode = 1;
    });
}

/**
 * Asks the engines before a migration, which makes ClickHouse's database if it is missing.
 * @throws CommandError that names every engine that cannot be used
 */
export async function requireEngines(context: CommandContext): Promise<void> {
  const rows = await Promise.all(engineChecks(context, false).map(report));
  const problems = rows.flatMap(({ problem }) => problem ?? []);
  if (problems.length > 0)
    throw new CommandError(problems.join('\n'), 'Nothing was changed. Mend this and run it again.');
}

function engineChecks(context: CommandContext, needsDatabase: boolean): EngineCheck[] {
  const config = context.configuration(settings);
  const { DATABASE_URL, MIGRATION_DATABASE_URL, SCHEMA_REGISTRY_URL, TEMPORAL_ADDRESS } = config;
  const { CLICKHOUSE_URL, CLICKHOUSE_REPLICAS } = config;
  const checks: EngineCheck[] = [];
  for (const url of new Set([DATABASE_URL, MIGRATION_DATABASE_URL])) {
    if (url === undefined) continue;
    const pool = makePool(url, 'padron-cli', 1);
    context.onEnd(() => pool.end());
    checks.push(databaseCheck(url, pool));
  }
  const { KAFKA_BROKERS } = config;
  if (KAFKA_BROKERS !== undefined) checks.push(kafkaCheck({ ...config, KAFKA_BROKERS }));
  if (SCHEMA_REGISTRY_URL !== undefined) checks.push(registryCheck(registryAccess({ ...config, SCHEMA_REGISTRY_URL })));
  // A migration may leave out a replica that is away, and says so by itself.
  const servers =
    CLICKHOUSE_REPLICAS === undefined || needsDatabase
      ? replicasOf({ ...config, CLICKHOUSE_URL: CLICKHOUSE_URL ?? '' }).map(({ target }) => clickhouseAccessOf(target))
      : [];
  for (const server of servers.filter(({ url }) => url !== '')) {
    const url = needsDatabase ? server.url : Object.assign(new URL(server.url), { pathname: '/' }).href;
    const access = { ...server, url };
    const client = makeClickhouse(access, 'padron-cli', { requestTimeoutMs: askMs, connections: 1 });
    context.onEnd(() => client.close());
    checks.push(clickhouseCheck(access, client));
  }
  if (TEMPORAL_ADDRESS !== undefined) {
    const access = temporalAccess(TEMPORAL_ADDRESS, config);
    const client = makeLazyTemporal(access, config.TEMPORAL_NAMESPACE);
    context.onEnd(() => client.connection.close());
    checks.push(temporalCheck(access, client));
  }
  return checks;
}

/** Kafka's client shows no version. The check of a process's start has its own words for what is wrong. */
function kafkaCheck(config: Parameters<typeof kafkaConnection>[0]): EngineCheck {
  return {
    engine: 'Kafka',
    address: config.KAFKA_BROKERS,
    async ask() {
      const { close } = await connectKafka(kafkaConnection(config), 'padron-cli', makeLogger('engines', 'fatal'));
      await close();
      return null;
    },
  };
}

interface Row {
  engine: string;
  address: string;
  version: string | null;
  /** The oldest version that this release works with. */
  floor: string | null;
  problem: string | null;
}

async function report(check: EngineCheck): Promise<Row> {
  const row = { engine: check.engine, address: check.address, floor: engineFloors[check.engine] };
  try {
    return { ...row, version: await askEngine(check, askMs), problem: null };
  } catch (error) {
    return { ...row, version: null, problem: (error as EngineError).message };
  }
}

function lineOf({ engine, address, version, floor, problem }: Row): string {
  if (problem !== null) return problem;
  const shown = version === null ? 'answers' : `version ${version}`;
  return `${engine} at ${address}: ${shown}${floor === null ? '' : ` (at least ${floor})`}`;
}
