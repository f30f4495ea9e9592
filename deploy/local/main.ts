import { readLocalConfig, removeEndpoints, stackPaths, writeEndpoints } from './config.ts';
import { addressTable, helpOption, readArguments, runInForeground } from './foreground.ts';
import { startStack } from './stack.ts';

const help = `npm run local: starts the engines alone (PostgreSQL, Kafka, schema registry, ClickHouse, Temporal) and waits.

Ctrl-C stops them; their data stays in .local/data. npm run local:reset deletes it.
An engine whose address is in the environment (DATABASE_URL, KAFKA_BROKERS, SCHEMA_REGISTRY_URL, CLICKHOUSE_URL,
TEMPORAL_ADDRESS) is used and not started.

Settings:
  PADRON_LOCAL_DIR     folder of data and addresses (default .local of this checkout)
  PADRON_PROGRAMS_DIR  folder of fetched programs (default .local/programs)`;

if (readArguments(help, helpOption).values.help) {
  console.log(help);
} else {
  const paths = stackPaths(readLocalConfig().localDirectory);
  process.exitCode = await runInForeground(async (foreground) => {
    const stack = await startStack({
      directory: paths.data,
      log: console.log,
      onEngineEnd: (engine) => foreground.fail(`${engine} has ended: stopping the others`),
    });
    foreground.onStop(() => stack.stop());
    writeEndpoints(paths.endpointsFile, stack.endpoints);
    foreground.onStop(() => removeEndpoints(paths.endpointsFile));
    console.log(`\n${addressTable(Object.entries(stack.endpoints))}\n\nCtrl-C stops.`);
  });
}
